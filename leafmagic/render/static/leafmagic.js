// Draws one leafmagic payload. Everything here works from data that has already arrived:
// while a cell runs the kernel answers nothing, so search, zoom, levels and details are local.
// The text of this file is stored in every saved widget state: keep it small.

const SVG_LIMIT = 1500; // above this many boxes a canvas is drawn
const FAR = 0.38; // below this zoom text is unreadable and is left out
const HOME = 0.75; // a graph that only fits below this zoom is not shown whole at first: its text stays readable
const WHOLE = 0.4; // when the cell has ended, a view that the reader did not move shows all down to this zoom
const ZOOM = [0.0005, 6];
const BUTTONS = 40; // the width that the zoom buttons take at the right
const ROW_LIMIT = 400; // rows of the tensor table

// r corner, w border, d dashes, i inner line, x struck-through name: as leafmagic/render/style.py
const LOOK = {
  leaf: { r: 9, w: 2, t: "leaf: requires grad, backward fills its .grad" },
  retained: { r: 9, w: 1.5, i: 1, t: "non-leaf with retain_grad(): its .grad is kept" },
  "non-leaf": { r: 3, w: 1, t: "computed: has a grad_fn, its .grad stays None" },
  "frozen leaf": { r: 0, w: 1.5, t: "leaf that does not require grad" },
  constant: { r: 0, w: 1.5, d: "6 4", t: "computed without grad: the gradient stops here" },
  "phantom leaf": { r: 9, w: 2, d: "7 4", t: "view taken under no_grad: looks like a leaf, never gets a gradient" },
  "dead name": { r: 9, w: 2, d: "0.1 4.5", x: 1, t: "leaf whose name now points to another tensor" },
  op: { r: 99, w: 1, t: "autograd node (grad_fn)" },
};
// kind of edge: dashes, words
const EDGES = {
  data: ["2 4", "no gradient"], base: ["8 3", "view of"], cut: ["5 4", "gradient stops"],
  carried: ["1 3", "earlier step"],
};
const dashes = (kind) => (EDGES[kind] || [""])[0];
const ICON = {
  error: "M5 0h6l5 5v6l-5 5H5l-5-5V5z", // octagon
  warning: "M8 0.6L16 15H0z", // triangle
  info: "M8 0a8 8 0 100 16A8 8 0 108 0z", // disc
};
const BANG = { info: "M8 7v5M8 3.6v1" };
const bang = (severity) => BANG[severity] || "M8 4.6v5M8 11.6v1";
const HOOK = "M4 1v6.500a3 3 0 006 0V5.600M8.300 7.400L10 5.200l1.700 2.200";
const slug = (state) => state.replace(" ", "-");
const look = (node) => LOOK[node.state] || LOOK["non-leaf"];

// ---------- small helpers
function fill(el, attrs, kids) {
  for (const [k, v] of Object.entries(attrs || {})) {
    if (v == null || v === false) continue;
    if (k.startsWith("on")) el.addEventListener(k.slice(2), v);
    else el.setAttribute(k, v === true ? "" : v);
  }
  el.append(...kids.flat().filter((c) => c != null && c !== false));
  return el;
}
const maker = (ns) => (spec, attrs, ...kids) => { // "div.a.b" is a div of class "lm-a lm-b"
  const [tag, ...names] = spec.split(".");
  const el = document.createElementNS(ns, tag);
  if (tag === "button") el.type = tag;
  if (names.length) el.setAttribute("class", names.map((n) => `lm-${n}`).join(" "));
  return fill(el, attrs, kids);
};
const h = maker("http://www.w3.org/1999/xhtml");
const s = maker("http://www.w3.org/2000/svg");
const button = (label, attrs, ...kids) =>
  h("button", { title: label, "aria-label": label, ...attrs }, ...kids);
const middle = (text, max) => (text.length <= max ? text : `${text.slice(0, Math.ceil(max * 0.4))}…${text.slice(-Math.floor(max * 0.55))}`);
// Of a dotted name the end and the layer's number stay, as in leafmagic/render/words.py.
function tail(text, max) {
  const parts = text.split("."), n = parts.findLastIndex((p) => /^\d+$/.test(p));
  if (text.length > max && /^[\w.[\]]+$/.test(text))
    for (let i = 1; i < parts.length; i++) {
      const cut = `…${n > 0 && n < i ? `.${parts[n]}…` : ""}.${parts.slice(i).join(".")}`;
      if (cut.length <= max) return cut;
    }
  return middle(text, max);
}
const elide = (text, max) => (text.length <= max ? text : text.slice(0, Math.max(1, max - 1)) + "…");
const clamp = (v, lo, hi) => Math.min(hi, Math.max(lo, v));
const plural = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
const seconds = (t) => (t < 0.9995 ? `${Math.round(t * 1e3)} ms` : t < 90 ? `${t.toFixed(1)} s` : `${Math.floor(t / 60)} min ${Math.round(t % 60)} s`);
function num(v) {
  if (v == null) return "";
  if (typeof v !== "number") return String(v); // "nan" and "inf" travel as text
  const a = Math.abs(v);
  return v === 0 ? "0" : a >= 1e4 || a < 1e-2 ? v.toExponential(1).replace("e+", "e") : String(+v.toPrecision(3));
}
const shapeText = (n) => (n.shape && n.shape.length ? `[${n.shape.join(", ")}]` : n.dtype ? "scalar" : "");
const short = (op) => (op || "").replace(/Backward\d*$/, "");
const title = (n) => n.name ? (n.kind === "op" ? short(n.name) : n.name) : n.op ? short(n.op) : n.kind || "tensor";
const kindText = (f) => (f.kind || f.severity).replaceAll("_", " ").replace("nonleaf", "non-leaf").replace("inplace", "written in place");
const where = (n) => (n.line ? `line ${n.line}` : "");
const prose = (text) => (text || "").split("\x60").map((part, i) => (i % 2 ? h("code", {}, part) : part));
const icon = (severity, size = 14) =>
  s("svg", { viewBox: "0 0 16 16", width: size, height: size, class: `lm-icon lm-${severity}`, role: "img", "aria-label": severity },
    s("path", { d: ICON[severity] || ICON.info }),
    s("path.bang", { d: bang(severity) }));
function glyph(state) {
  const l = LOOK[state] || LOOK["non-leaf"];
  const box = (x, w, r) => s("rect", { x, y: x, width: 24 - 2 * x, height: 14 - 2 * x, rx: r, "stroke-width": w, "stroke-dasharray": l.d && (l.x ? "0.1 3.2" : "3.4 2.2") });
  return s("svg", { class: `lm-glyph lm-s-${slug(state)}`, width: 24, height: 14, viewBox: "0 0 24 14", "aria-hidden": "true" },
    box(1.5, Math.min(l.w, 1.6), Math.min(l.r, 5.5)), l.i && box(4, 1, 3), l.x && s("path", { d: "M6 7h12", "stroke-width": 1.2 }));
}

// Makes the children of `el` like `kids` and changes only what differs: ten times a second
// a reader's focus, scroll position and half-done click must survive. An element whose data-*
// differ is about something else and is replaced, with its listeners.
function morph(el, kids) {
  kids = kids.flat().filter((k) => k != null && k !== false && k !== "");
  kids.forEach((kid, i) => {
    if (!kid.nodeType) kid = document.createTextNode(kid);
    const old = el.childNodes[i];
    if (!old) return el.append(kid);
    if (old.nodeName !== kid.nodeName || JSON.stringify({ ...old.dataset }) !== JSON.stringify({ ...kid.dataset })) return old.replaceWith(kid);
    if (kid.nodeType === 3) return old.data === kid.data || (old.data = kid.data);
    for (const { name, value } of kid.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    for (const { name } of [...old.attributes]) if (!kid.hasAttribute(name)) old.removeAttribute(name);
    morph(old, [...kid.childNodes]);
  });
  while (el.childNodes.length > kids.length) el.lastChild.remove();
}

// ---------- data: one store for each model, shared by its views
function apply(doc, b) {
  const out = { ...doc };
  const byId = (list, change) => {
    const m = new Map((list || []).map((n) => [n.id, n]));
    for (const id of change.del) m.delete(id);
    for (const n of change.set) { // only what changed; after a gap it may be of nobody
      const old = m.get(n.id);
      if (old || n.kind || n.w) m.set(n.id, { ...old, ...n });
    }
    return [...m.values()];
  };
  const splice = (list, c) => [...(list || []).slice(0, c.at), ...c.add, ...(list || []).slice(c.at + c.drop)];
  for (const [key, v] of Object.entries(b)) {
    if (key === "nodes") out.nodes = byId(doc.nodes, v);
    else if (key === "edges") out.edges = splice(doc.edges, v);
    else if (key === "levels") {
      out.levels = { ...doc.levels };
      for (const [name, c] of Object.entries(v)) {
        const old = (doc.levels || {})[name] || {};
        out.levels[name] = { ...old, ...c };
        if (c.nodes) out.levels[name].nodes = byId(old.nodes, c.nodes);
        if (c.edges) out.levels[name].edges = splice(old.edges, c.edges);
      }
    } else if (key === "training") out.training = { ...doc.training, ...v };
    else if (key !== "type" && key !== "seq") out[key] = v;
  }
  return out;
}

function makeStore(model) {
  const store = { doc: model.get("payload") || {}, seq: 0, got: 0, missed: false, views: new Set() };
  const tell = () => {
    store.got = performance.now();
    for (const view of store.views) view();
  };
  model.on("msg:custom", (m) => {
    if (!m || m.seq <= store.seq) return;
    if (m.type === "full") {
      store.doc = m.payload;
      store.missed = false;
    } else if (m.type === "batch") {
      // After a gap what still fits is drawn; the next full message mends the rest.
      if (m.seq !== store.seq + 1) store.missed = true;
      store.doc = apply(store.doc, m);
    } else return;
    store.seq = m.seq;
    tell();
  });
  model.on("change:payload", () => {
    store.doc = model.get("payload") || {};
    store.missed = false;
    tell();
  });
  return store;
}

// ---------- geometry of one level: boxes, and edges turned the way the data flows (down)
function prepare(level, nodes) {
  const boxes = new Map();
  for (const b of (level && level.nodes) || []) {
    const node = nodes.get(b.id);
    if (node) boxes.set(b.id, { ...b, node, src: nodes.get(b.of), ins: [], outs: [], stubs: [] });
  }
  const edges = [];
  for (const e of (level && level.edges) || []) {
    const from = boxes.get(e.target), to = boxes.get(e.source);
    if (!from || !to || from === to) continue;
    const kind = e.carried ? "carried" : e.kind;
    if (e.route === "stub") { // a shared leaf far away: only its name, beside the box
      to.stubs.push(from);
      from.outs.push({ from, to });
      to.ins.push({ from, to });
      continue;
    }
    const label = e.label && !e.route && !e.carried && !to.node.source ? e.label : "";
    const edge = { from, to, kind, label, mid: e.points || [], bus: e.route === "bus", lane: e.route === "bus" || e.route === "lane" };
    edges.push(edge);
    from.outs.push(edge);
    to.ins.push(edge);
  }
  // An edge leaves and enters towards its other end, but well inside the box.
  const port = (b, x) => b.x + clamp((x - b.x) * 0.22, -b.w * 0.32, b.w * 0.32);
  for (const e of edges) {
    const { from: a, to: b, mid } = e, last = mid.length && mid[mid.length - 1][0];
    e.y1 = a.y + a.h / 2;
    e.y2 = b.y - b.h / 2;
    // One that does not go down (carried over, or along a row) leaves and enters at the side.
    e.side = e.y2 < e.y1 + 6;
    if (e.side) {
      e.row = a.y === b.y;
      const dir = e.row && b.x < a.x ? -1 : 1;
      Object.assign(e, { x1: a.x + (dir * a.w) / 2, y1: a.y, x2: b.x + ((e.row ? -dir : dir) * b.w) / 2, y2: b.y });
      continue;
    }
    e.x1 = e.bus ? a.x : port(a, mid.length ? mid[0][0] : b.x);
    e.x2 = e.bus ? last : port(b, mid.length ? last : a.x);
    if (a.node.kind !== "op" && e.x1 - a.x + a.w / 2 < a.node.state.length * 5.4 + 15) e.y1 += 6; // below the tag
  }
  for (const e of edges) if (e.from.outs.length > 8) e.label = ""; // so many would cover each other
  let x0 = Infinity, y0 = Infinity, x1 = -Infinity, y1 = -Infinity;
  for (const b of boxes.values()) {
    b.stub = elide([...new Set(b.stubs.map((q) => q.label || title(q.node)))].join(", "), 24);
    x0 = Math.min(x0, b.x - b.w / 2 - (b.stub ? 24 + b.stub.length * 6.6 : 0)); x1 = Math.max(x1, b.x + b.w / 2);
    y0 = Math.min(y0, b.y - b.h / 2); y1 = Math.max(y1, b.y + b.h / 2);
  }
  for (const e of edges) for (const [x] of e.mid) { x0 = Math.min(x0, x); x1 = Math.max(x1, x); }
  return { boxes, edges, x0, y0, x1, y1, list: [...boxes.values()] };
}

// Calls move(x, y) and curve(x1, y1, x2, y2, x, y): one walk for the SVG path and for the canvas.
function walk(e, move, curve) {
  move(e.x1, e.y1);
  if (e.row) {
    const d = (e.x2 - e.x1) / 3;
    return curve(e.x1 + d, e.y1 - 6, e.x2 - d, e.y2 - 6, e.x2, e.y2);
  }
  if (e.side) {
    const far = Math.max(e.x1, e.x2) + 46;
    return curve(far, e.y1, far, e.y2, e.x2, e.y2);
  }
  let [x, y] = [e.x1, e.y1], i = 0;
  for (const [px, py] of [...e.mid, [e.x2, e.y2]]) {
    // Between two rows an edge swings over, through a row it runs straight down.
    const d = e.lane || i++ % 2 ? 0 : (py - y) * 0.5;
    if (d) curve(x, y + d, px, py - d, px, py);
    else curve(x, y, px, py, px, py);
    [x, y] = [px, py];
  }
}
function pathOf(e) {
  let d = "";
  const f = (v) => +v.toFixed(1);
  walk(e, (x, y) => (d += `M${f(x)} ${f(y)}`), (...p) => (d += `C${p.map(f).join(" ")}`));
  return d;
}
const arrowOf = (e) =>
  e.side ? (e.row && e.x2 > e.x1 ? [-7, -3.5, -7, 3.5] : [7, -3.5, 7, 3.5]) : [-3.5, -7, 3.5, -7];
const labelAt = (e) =>
  e.side ? [Math.max(e.x1, e.x2) + 38, (e.y1 + e.y2) / 2]
    : e.mid.length ? e.mid[Math.floor(e.mid.length / 2)] : [(e.x1 + e.x2) / 2, (e.y1 + e.y2) / 2];

// What a box shows, worked out once for both renderers.
function face(b, ui) {
  const n = b.node, op = n.kind === "op", room = b.w - 8 - (b.heat || 0) - (b.spark || 0), [grad, how] = op ? ["", ""] : gradBadge(n, ui);
  return {
    label: (op ? elide : tail)(b.label || title(n), Math.ceil(room / (op ? 7.2 : 8.4))),
    sub: elide(b.sub || "", Math.ceil(room / 6.6)),
    tag: op ? "" : n.state,
    stub: b.stub,
    mark: ui.marks[b.id],
    grad, how,
    hooks: n.hooks || 0,
    ly: (b.sub ? -2 : 5) + (op ? -1 : 0),
    sy: op ? 10 : 13,
    ...gradFace(b, ui),
  };
}

// ---------- renderer 1: SVG, updated in place
function svgRenderer(stage) {
  const edgeLayer = s("g"), nodeLayer = s("g");
  const cam = s("g", {}, edgeLayer, nodeLayer);
  const svg = s("svg.svg", { "aria-hidden": "true" }, cam);
  stage.prepend(svg);
  // A class left behind would flash again whenever the page restarts its animations.
  svg.addEventListener("animationend", (e) => {
    if (e.animationName === "lm-flash") e.target.closest(".lm-flash")?.classList.remove("lm-flash");
  });
  const shown = new Map(), lines = new Map();

  function drawNode(b, f, fresh) {
    const n = b.node, l = look(n), x = -b.w / 2, y = -b.h / 2;
    const r = Math.min(l.r, b.h / 2);
    const rect = (inset, cls) => s("rect", {
      class: cls, x: x + inset, y: y + inset, width: b.w - 2 * inset, height: b.h - 2 * inset,
      rx: Math.max(0, r - inset), "stroke-width": cls === "lm-box" ? l.w : 1, "stroke-dasharray": cls === "lm-box" && l.d,
    });
    const g = s("g", { class: `lm-node lm-s-${slug(n.state)}${fresh ? " lm-new" : ""}`, "data-id": b.id },
      rect(-4, "lm-ring"), rect(0, "lm-box"), l.i && rect(3, "lm-inner"),
      f.hot && s("path.heat", { d: stripOf(x, y, b.h, r, b.heat) }),
      s("text.label", { x: f.shift, y: f.ly }, f.label),
      s("text.sub", { x: f.shift, y: f.sy }, f.sub),
      f.spark && s("path.spark", { transform: `translate(${-x - b.spark + 3} ${-SPARK[1] / 2})` }),
      f.tag && [s("path.patch", { d: `M${x + 8} ${-y}h${f.tag.length * 5.4 + 5}` }), s("text.tag", { x: x + 11, y: -y + 3 }, f.tag)],
      f.stub && [s("path.line", { d: `M${x - 18} 0h12` }), s("path.tip", { d: `M${x - 7} -4v8l7 -4z` }), s("text.stub", { x: x - 22, y: 4 }, f.stub)],
      f.ran && b.w > f.tag.length * 5.4 + f.ran.length * 5.4 + 34 && [s("path.patch", { d: `M${-x - 14 - f.ran.length * 5.4} ${-y}h${f.ran.length * 5.4 + 5}` }), s("text.ran", { x: -x - 11, y: -y + 3 }, f.ran)],
      f.flag && s("g", { class: `lm-flag${f.alarm ? " lm-alarm" : ""}`, transform: `translate(${x - 5} ${y - 7})` },
        s("rect", { width: f.flag.length * 5.7 + 9, height: 13, rx: 3 }), s("text", { x: f.flag.length * 2.85 + 4.5, y: 9.8 }, f.flag)));
    const at = -x - (f.mark ? 14 : -8);
    const wide = f.grad.length * 5.5 + 10;
    if (f.grad) g.append(s("g", { class: `lm-grad lm-g-${f.how}`, transform: `translate(${at - wide} ${y - 6})` },
      s("rect", { width: wide, height: 12, rx: 6 }), s("text", { x: wide / 2, y: 9 }, f.grad)));
    if (f.hooks) g.append(s("g.hook", { transform: `translate(${at - (f.grad ? wide + 20 : 16)} ${y - 6})` },
      s("circle", { cx: 7, cy: 6, r: 7.5 }), s("path", { d: HOOK })));
    if (f.mark) g.append(s("g", { class: `lm-mark lm-${f.mark}`, transform: `translate(${-x - 10} ${y - 9})` },
      s("path", { d: ICON[f.mark] }), s("path.bang", { d: bang(f.mark) })));
    return g;
  }
  return {
    el: svg,
    update(geo, ui) {
      const keep = new Set(), first = shown.size === 0;
      for (const b of geo.list) {
        const { hot, spark, sub, ...f } = face(b, ui);
        const key = [b.node.state, b.w, b.h, !!hot, !!spark, ...Object.values(f)].join("|");
        let item = shown.get(b.id);
        if (!item || item.key !== key) {
          const g = drawNode(b, { ...f, hot, spark, sub }, !item && !first);
          if (item && f.grad && !item.grad) g.classList.add("lm-flash");
          if (item) item.g.replaceWith(g);
          else nodeLayer.append(g);
          shown.set(b.id, (item = { g, key, grad: f.grad, sub, text: g.querySelector(".lm-sub"), line: g.querySelector(".lm-spark") }));
          g.classList.toggle("lm-old", f.old);
        }
        // These change many times a second: in place.
        if (item.sub !== sub) item.text.textContent = item.sub = sub;
        if (item.hot !== hot) { item.hot = hot; item.g.style.setProperty("--hot", hot || "var(--lm-error)"); item.g.classList.toggle("lm-heated", !!hot); }
        if (item.line && item.spark !== spark) item.line.setAttribute("d", (item.spark = spark));
        item.b = b;
        const at = `translate(${b.x} ${b.y})`;
        if (item.at !== at) item.g.setAttribute("transform", (item.at = at));
        keep.add(b.id);
      }
      for (const [id, item] of shown) if (!keep.has(id)) { item.g.remove(); shown.delete(id); }
      const used = new Set();
      for (const e of geo.edges) {
        let id = `${e.from.id}>${e.to.id}>${e.kind}`;
        while (used.has(id)) id += "'";
        used.add(id);
        const d = pathOf(e), key = d + e.label;
        let item = lines.get(id);
        if (!item || item.key !== key) {
          const [ax, ay, bx, by] = arrowOf(e), [lx, ly] = labelAt(e);
          const g = s("g", { class: `lm-edge lm-e-${e.kind}` },
            s("path.line", { d, "stroke-dasharray": dashes(e.kind) }),
            s("path.tip", { d: `M${e.x2} ${e.y2}l${ax} ${ay}L${e.x2 + bx} ${e.y2 + by}z` }),
            e.label && s("text.elabel", { x: lx, y: ly + 3.5 }, elide(e.label, 30)));
          if (item) item.g.replaceWith(g);
          else edgeLayer.append(g);
          lines.set(id, (item = { g, key }));
        }
        item.e = e;
      }
      for (const [id, item] of lines) if (!used.has(id)) { item.g.remove(); lines.delete(id); }
      this.mark(ui);
    },
    mark(ui) {
      const on = ui.sel || ui.hover;
      svg.classList.toggle("lm-dim", ui.hits !== null);
      for (const [id, { g }] of shown) {
        g.classList.toggle("lm-sel", id === ui.sel);
        g.classList.toggle("lm-hov", id === ui.hover);
        g.classList.toggle("lm-hit", ui.hits !== null && ui.hits.has(id));
        g.classList.toggle("lm-out", outside(shown.get(id).b, ui));
      }
      for (const { g, e } of lines.values()) {
        g.classList.toggle("lm-on", !!on && (e.from.id === on || e.to.id === on));
        g.classList.toggle("lm-out", outside(e.from, ui) || outside(e.to, ui));
      }
    },
    camera(c) {
      cam.setAttribute("transform", `translate(${c.x.toFixed(2)} ${c.y.toFixed(2)}) scale(${c.k.toFixed(4)})`);
      svg.classList.toggle("lm-far", c.k < FAR);
    },
    destroy() { svg.remove(); },
  };
}

// ---------- renderer 2: canvas, draws only what is in sight
function canvasRenderer(stage, root) {
  const canvas = h("canvas.canvas", { "aria-hidden": "true" });
  stage.prepend(canvas);
  const ctx = canvas.getContext("2d");
  let geo, ui, c = { x: 0, y: 0, k: 1 }, paint, queued = 0;

  function colours() {
    const css = getComputedStyle(root);
    const get = (name) => css.getPropertyValue(`--lm-${name}`).trim();
    paint = { code: get("code") };
    for (const name of ["bg", "ink", "ink2", "edge", "accent", "grad", "error", "warning", "info", ...Object.keys(LOOK).flatMap((k) => [slug(k), `${slug(k)}-text`])]) paint[name] = get(name);
  }
  function draw() {
    queued = 0;
    if (!geo) return;
    const ratio = window.devicePixelRatio || 1, W = stage.clientWidth, H = stage.clientHeight;
    if (canvas.width !== Math.round(W * ratio) || canvas.height !== Math.round(H * ratio)) {
      canvas.width = Math.round(W * ratio);
      canvas.height = Math.round(H * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, W, H);
    ctx.setTransform(ratio * c.k, 0, 0, ratio * c.k, ratio * c.x, ratio * c.y);
    const sight = { x0: -c.x / c.k - 60, y0: -c.y / c.k - 30, x1: (W - c.x) / c.k + 60, y1: (H - c.y) / c.k + 30 };
    drawEdges(sight);
    drawNodes(sight);
  }
  function drawEdges(v) {
    const on = ui.sel || ui.hover, groups = {};
    for (const e of geo.edges) {
      if (Math.max(e.y1, e.y2) < v.y0 || Math.min(e.y1, e.y2) > v.y1 || Math.max(e.x1, e.x2) < v.x0 || Math.min(e.x1, e.x2) > v.x1) continue;
      const key = on && (e.from.id === on || e.to.id === on) ? "on" : e.kind;
      (groups[key] ||= []).push(e);
    }
    for (const [kind, list] of Object.entries(groups)) {
      ctx.beginPath();
      for (const e of list) {
        if (c.k < 0.2) { ctx.moveTo(e.x1, e.y1); ctx.lineTo(e.x2, e.y2); }
        else walk(e, (x, y) => ctx.moveTo(x, y), (...p) => ctx.bezierCurveTo(...p));
      }
      ctx.strokeStyle = kind === "on" ? paint.accent : kind === "cut" ? paint["phantom-leaf"] : paint.edge;
      ctx.lineWidth = Math.max(kind === "on" ? 2 : 1.2, 0.5 / c.k);
      ctx.globalAlpha = kind === "on" ? 1 : ui.hits ? 0.35 : clamp(c.k * 5, 0.15, 1);
      ctx.setLineDash(c.k < FAR ? [] : dashes(kind).split(" ").filter(Boolean).map(Number));
      ctx.stroke();
      ctx.setLineDash([]);
      if (c.k < FAR) continue;
      ctx.fillStyle = ctx.strokeStyle;
      ctx.beginPath();
      for (const e of list) {
        const [ax, ay, bx, by] = arrowOf(e);
        ctx.moveTo(e.x2, e.y2); ctx.lineTo(e.x2 + ax, e.y2 + ay); ctx.lineTo(e.x2 + bx, e.y2 + by);
      }
      ctx.fill();
    }
    ctx.globalAlpha = 1;
  }
  function drawNodes(v) {
    for (const b of geo.list) {
      const x = b.x - b.w / 2, y = b.y - b.h / 2;
      if (x > v.x1 || x + b.w < v.x0 || y > v.y1 || y + b.h < v.y0) continue;
      const n = b.node, l = look(n), colour = paint[slug(n.state)] || paint.edge;
      const special = b.id === ui.sel || b.id === ui.hover || (ui.hits && ui.hits.has(b.id));
      const f = face(b, ui), alpha = (ui.hits && !special) || outside(b, ui) ? 0.3 : f.old ? 0.5 : 1;
      ctx.globalAlpha = alpha;
      if (c.k < 0.12 && !special) { // a dot of its colour is all that can be seen
        ctx.fillStyle = f.hot || colour;
        const px = Math.max(b.w, 2 / c.k), py = Math.max(b.h, 1.5 / c.k);
        ctx.fillRect(b.x - px / 2, b.y - py / 2, px, py);
        continue;
      }
      const box = (inset) => { ctx.beginPath(); ctx.roundRect(x + inset, y + inset, b.w - 2 * inset, b.h - 2 * inset, Math.max(0, Math.min(l.r, b.h / 2) - inset)); };
      box(0);
      ctx.fillStyle = paint.bg;
      ctx.fill();
      if (!f.hot || c.k >= FAR) ctx.globalAlpha *= 0.13;
      ctx.fillStyle = c.k < FAR && f.hot || colour;
      ctx.fill();
      ctx.globalAlpha = alpha;
      if (f.hot && c.k >= FAR) { ctx.fillStyle = f.hot; ctx.fill(new Path2D(stripOf(x, y, b.h, Math.min(l.r, b.h / 2), b.heat))); }
      ctx.strokeStyle = colour;
      ctx.lineWidth = l.w;
      ctx.setLineDash(l.d ? l.d.split(" ").map(Number) : []);
      ctx.stroke();
      ctx.setLineDash([]);
      if (l.i) { box(4); ctx.lineWidth = 1; ctx.stroke(); }
      if (special) { box(-4); ctx.lineWidth = Math.max(2.5, 2 / c.k); ctx.strokeStyle = paint.accent; ctx.stroke(); }
      const mark = ui.marks[b.id];
      if (c.k >= FAR) drawFace(b, n, l, f);
      else if (mark) { const d = 10 / c.k; ctx.fillStyle = paint[mark]; ctx.fillRect(x + b.w - d / 2, y - d / 2, d, d); }
    }
    ctx.globalAlpha = 1;
  }
  function drawFace(b, n, l, f) {
    const x = b.x - b.w / 2, y = b.y - b.h / 2, mid = b.x + f.shift;
    const text = (t, tx, ty, font, colour, align = "center") => {
      ctx.font = `${font} ${paint.code}`; ctx.fillStyle = colour; ctx.textAlign = align;
      ctx.fillText(t, tx, ty);
    };
    text(f.label, mid, b.y + f.ly, f.tag ? "700 14px" : "12px", paint.ink);
    if (l.x) ctx.fillRect(mid - f.label.length * 4.2, b.y + f.ly - 4, f.label.length * 8.4, 1.2);
    if (f.sub) text(f.sub, mid, b.y + f.sy, f.tag ? "11px" : "9px", paint.ink2);
    if (f.tag) {
      ctx.fillStyle = paint.bg;
      ctx.fillRect(x + 8, y + b.h - 2, f.tag.length * 5.4 + 5, 4);
      text(f.tag, x + 11, y + b.h + 3, "9px", paint[`${slug(n.state)}-text`], "left");
    }
    if (f.stub) text(f.stub, x - 22, b.y + 4, "11px", paint.ink2, "right");
    const at = x + b.w - (f.mark ? 14 : -8);
    const wide = f.grad.length * 5.5 + 10;
    if (f.grad) {
      ctx.fillStyle = f.how ? paint.bg : paint.grad; ctx.strokeStyle = paint.grad; ctx.lineWidth = 1.2;
      ctx.beginPath(); ctx.roundRect(at - wide, y - 6, wide, 12, 6); ctx.fill(); ctx.stroke();
      text(f.grad, at - wide / 2, y + 3, "700 9px", f.how ? paint.ink : "#000");
    }
    if (f.flag) {
      ctx.fillStyle = f.alarm ? paint.error : paint.ink;
      ctx.fillRect(x - 5, y - 7, f.flag.length * 5.7 + 9, 13);
      text(f.flag, x - 0.5, y + 3, "700 9px", f.alarm ? "#000" : paint.bg, "left");
    }
    const stamp = (dx, dy, how) => { ctx.save(); ctx.translate(dx, dy); how(); ctx.restore(); };
    if (f.hooks) stamp(at - (f.grad ? wide + 20 : 16), y - 6, () => {
      ctx.fillStyle = paint.bg; ctx.strokeStyle = paint.ink; ctx.lineWidth = 1.3;
      ctx.beginPath(); ctx.arc(7, 6, 7.5, 0, 7); ctx.fill(); ctx.stroke(); ctx.stroke(new Path2D(HOOK));
    });
    if (f.mark) stamp(x + b.w - 10, y - 9, () => {
      ctx.fillStyle = paint[f.mark]; ctx.fill(new Path2D(ICON[f.mark]));
      ctx.strokeStyle = "#000"; ctx.lineWidth = 2; ctx.stroke(new Path2D(bang(f.mark)));
    });
  }
  const soon = () => { queued ||= requestAnimationFrame(draw); };
  return {
    el: canvas, draw,
    update(g, u) { geo = g; ui = u; colours(); soon(); },
    mark(u) { ui = u; soon(); },
    camera(next) { c = { ...next }; soon(); },
    destroy() { cancelAnimationFrame(queued); canvas.remove(); },
  };
}

// ---------- the view
let serial = 0;
const outside = (b, ui) => ui.reach !== null && !ui.reach.has(b.id) && !ui.reach.has(b.of);
function view(store, root, twin, signal) {
  const uid = `lm${++serial}-${Math.random().toString(36).slice(2, 7)}`;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const ui = { level: "names", sel: null, hover: null, hits: null, hitAt: -1, marks: {}, tab: "tensors", chosen: false, sort: ["", 1], all: false,
    grads: true, scale: null, sums: new Map(), breaks: {}, failed: [], running: false, root: "", reach: null, read: null, pq: "", psort: ["", 1] };
  const cam = { x: 0, y: 0, k: 1 };
  let nodes = new Map(), geo = prepare(null, nodes), painter = null, follow = "home", armed = false, moving = 0, queued = 0, height = 0;

  const found = () => store.doc.findings || [], state = () => store.doc.status || {};

  // --- skeleton
  const live = h("div.sr", { "aria-live": "polite" });
  const cellName = h("span.cell", {});
  const status = h("span.status", { role: "status" });
  const levels = h("div.seg", { role: "group", "aria-label": "Level of detail" });
  const heat = h("div.seg", { hidden: true }, button("Colour the boxes by the norm of their gradient", { "data-heat": true, "aria-label": null, onclick: () => { ui.grads = !ui.grads; refresh(); } }, "gradients"));
  const train = h("div.train", { hidden: true, role: "group", "aria-label": "Training" });
  const search = h("input", { type: "search", class: "lm-search", placeholder: "Search  /", "aria-label": "Search by name, op or source; Enter cycles through the hits", spellcheck: "false", autocomplete: "off" });
  const hitCount = h("span.hits", { "aria-live": "polite" });
  const head = h("div.head", {},
    s("svg.logo", { viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" },
      s("path", { d: "M2 14C1 6 6 1.5 14.5 1.5 15 10 10.500 15 4.500 12.500z" }), s("path.vein", { d: "M2 14.500L10 6.500" })),
    cellName, status, h("span.gap", {}), h("span.find", {}, search, hitCount), heat, levels);
  const empty = h("div.empty", {});
  const tip = h("div.tip-box", { role: "tooltip", hidden: true });
  const hint = h("div.hint", { hidden: true }, "Click the graph or hold Ctrl to zoom");
  const legend = h("div.legend", { role: "group", "aria-label": "Legend" });
  const mini = h("canvas.mini", { hidden: true, "aria-hidden": "true" });
  const tools = h("div.tools", { role: "group", "aria-label": "Zoom" },
    button("Zoom in (+)", { onclick: () => zoom(1.35) }, "+"),
    button("Zoom out (-)", { onclick: () => zoom(1 / 1.35) }, "−"),
    button("Fit the whole graph (f)", { onclick: () => fitAll() },
      s("svg", { viewBox: "0 0 16 16", width: 13, height: 13, "aria-hidden": "true" }, s("path", { d: "M1.500 5.500v-4h4M10.500 1.500h4v4M14.500 10.500v4h-4M5.500 14.500h-4v-4" }))));
  const stage = h("div.stage", { tabindex: 0, role: "application", "aria-roledescription": "graph", "aria-describedby": `${uid}-help` }, empty, hint, tip);
  const tabs = h("div.tabs", { role: "tablist", "aria-label": "Lists" });
  const panel = h("div.panel", { role: "tabpanel", tabindex: 0, id: `${uid}-panel` });
  const foot = h("div.foot", {});
  const notes = h("div.notes", { role: "note", hidden: true });
  const body = h("div.body", {}, h("div.left", {}, h("div.wrap", {}, stage, tools, mini), legend), h("div.side", {}, tabs, panel));
  root.append(h("style", {}, twin && `.lm-twin-${twin}{display:none!important}.jp-OutputArea-child:has(.lm-twin-${twin}){display:none!important}`), head, notes, train, body, foot, live,
    h("div.sr", { id: `${uid}-help` }, "Arrow keys move along the edges, Enter opens the details, Escape closes them, plus and minus zoom, f fits, slash searches."));

  // --- camera
  function setCam(x, y, k) {
    cam.x = x; cam.y = y; cam.k = k;
    if (painter) painter.camera(cam);
    drawMini();
  }
  let miniKey = null, miniBack = null;
  function drawMini() {
    const W = stage.clientWidth, H = stage.clientHeight, w = geo.x1 - geo.x0, t = geo.y1 - geo.y0;
    const whole = cam.x + geo.x0 * cam.k > -9 && cam.x + geo.x1 * cam.k < W + 9 && cam.y + geo.y0 * cam.k > -9 && cam.y + geo.y1 * cam.k < H + 9;
    mini.hidden = whole || geo.list.length < 12 || W < 260;
    if (mini.hidden) return;
    const k = Math.min(120 / w, 150 / t), mw = Math.max(34, Math.round(w * k)), mh = Math.max(34, Math.round(t * k)), r = 2;
    const X = (x) => ((x - geo.x0) / w) * mw * r, Y = (y) => ((y - geo.y0) / t) * mh * r, ctx = mini.getContext("2d");
    if (miniKey !== geo) { // the boxes only change with the data; the frame moves with every step
      miniKey = geo;
      miniBack = h("canvas", { width: mw * r, height: mh * r });
      const back = miniBack.getContext("2d"), css = getComputedStyle(root);
      for (const b of geo.list) {
        back.fillStyle = css.getPropertyValue(`--lm-${ui.marks[b.id] || slug(b.node.state || "op")}`);
        const hot = !ui.marks[b.id] && gradFace(b, ui).hot;
        if (hot) back.fillStyle = hot;
        const bw = Math.max(2, (b.w / w) * mw * r), bh = Math.max(2, (b.h / t) * mh * r);
        back.fillRect(X(b.x) - bw / 2, Y(b.y) - bh / 2, bw, bh);
      }
      mini.width = mw * r; mini.height = mh * r;
      mini.style.width = `${mw}px`; mini.style.height = `${mh}px`;
    }
    ctx.clearRect(0, 0, mini.width, mini.height);
    ctx.drawImage(miniBack, 0, 0);
    ctx.strokeStyle = getComputedStyle(root).getPropertyValue("--lm-ink");
    ctx.lineWidth = r;
    const fx = clamp(X(-cam.x / cam.k), 1, mw * r), fy = clamp(Y(-cam.y / cam.k), 1, mh * r);
    ctx.strokeRect(fx, fy, clamp(X((W - cam.x) / cam.k), 6, mw * r - 1) - fx, Math.max(5, clamp(Y((H - cam.y) / cam.k), 6, mh * r - 1) - fy));
  }
  function glide(x, y, k, smooth) {
    cancelAnimationFrame(moving);
    if (!smooth || calm) return setCam(x, y, k);
    const from = { ...cam }, t0 = performance.now();
    const step = (t) => {
      const p = clamp((t - t0) / 180, 0, 1), q = 1 - (1 - p) ** 3;
      setCam(from.x + (x - from.x) * q, from.y + (y - from.y) * q, from.k + (k - from.k) * q);
      if (p < 1) moving = requestAnimationFrame(step);
    };
    moving = requestAnimationFrame(step);
  }
  // Puts a point in the middle, but shows no emptiness beyond the edges of a large graph.
  function centre(x, y, k, smooth) {
    const W = stage.clientWidth - BUTTONS, H = stage.clientHeight;
    const keep = (v, lo, hi, half) => (hi - lo < 2 * half ? (lo + hi) / 2 : clamp(v, lo + half, hi - half));
    glide(W / 2 - keep(x, geo.x0, geo.x1, (W / 2 - 20) / k) * k, H / 2 - keep(y, geo.y0, geo.y1, (H / 2 - 24) / k) * k, k, smooth);
  }
  // Where a tall graph would shrink to a thread, the view starts at its readable end, the result.
  function fit(smooth) {
    const W = stage.clientWidth, H = stage.clientHeight, wide = (W - BUTTONS - 40) / (geo.x1 - geo.x0);
    if (!geo.list.length || !W || !H) return;
    const k = clamp(Math.min(wide, (H - 48) / (geo.y1 - geo.y0)), ZOOM[0], 1.1);
    if (follow === "fit" || k >= (follow === "end" ? WHOLE : HOME)) return centre((geo.x0 + geo.x1) / 2, (geo.y0 + geo.y1) / 2, k, smooth);
    centre(geo.list.reduce((a, b) => (b.y > a.y ? b : a)).x, geo.y1, clamp(wide, HOME, 0.8), smooth);
  }
  function fitAll() { follow = "fit"; fit(true); }
  function zoom(factor, px = stage.clientWidth / 2, py = stage.clientHeight / 2) {
    cancelAnimationFrame(moving);
    follow = null;
    const k = clamp(cam.k * factor, ...ZOOM), f = k / cam.k;
    setCam(px - (px - cam.x) * f, py - (py - cam.y) * f, k);
  }
  function reveal(id) {
    const b = geo.boxes.get(id), k = Math.max(cam.k, HOME);
    if (!b) return;
    const x = b.x * k + cam.x, y = b.y * k + cam.y;
    if (k === cam.k && x > 50 && x < stage.clientWidth - 70 && y > 24 && y < stage.clientHeight - 24) return;
    follow = null;
    centre(b.x, b.y, k, true);
  }

  // --- selection, search
  function describe(n) {
    const hits = found().filter((f) => f.node === n.id).length;
    return [title(n), n.state, shapeText(n), where(n), n.has_grad ? `grad ${num(n.grad_norm)}` : n.stats && `gradient norm ${num(n.stats.norm)}`, hits && plural(hits, "warning")].filter(Boolean).join(", ");
  }
  function select(id, { show = true, open = false, say = true } = {}) {
    ui.sel = id;
    if (id && open) { ui.tab = "node"; ui.chosen = true; }
    else if (!id && ui.tab === "node") ui.tab = found().length ? "warnings" : "tensors";
    if (painter) painter.mark(ui);
    if (id && show) reveal(id);
    if (id && say && nodes.get(id)) live.textContent = describe(nodes.get(id));
    renderSide();
  }
  function runSearch(keepAt) {
    const q = search.value.trim().toLowerCase();
    ui.hits = q ? new Set(geo.list.filter(({ node: n, label }) => [label, n.name, n.op, n.source, n.module, ...(n.names || []).map((b) => b.name)].some((t) => t && t.toLowerCase().includes(q))).map((b) => b.id)) : null;
    if (!keepAt) ui.hitAt = -1;
    hitCount.textContent = ui.hits ? (ui.hitAt >= 0 && ui.hits.size ? `${ui.hitAt + 1} / ${ui.hits.size}` : `${ui.hits.size}`) : "";
    if (painter) painter.mark(ui);
    if (ui.tab === "tensors") renderSide();
  }
  function nextHit(step) {
    if (!ui.hits || !ui.hits.size) return;
    ui.hitAt = (ui.hitAt + step + ui.hits.size) % ui.hits.size;
    select([...ui.hits][ui.hitAt]);
    runSearch(true);
  }
  function arrow(key) {
    const b = geo.boxes.get(ui.sel);
    if (!b) return select((geo.list.find((q) => !q.outs.length) || geo.list[0] || {}).id || null);
    const near = (list) => list.sort((p, q) => Math.abs(p.x - b.x) - Math.abs(q.x - b.x))[0];
    let to;
    if (key === "ArrowUp") to = near(b.ins.map((e) => e.from));
    else if (key === "ArrowDown") to = near(b.outs.map((e) => e.to));
    else {
      const dir = key === "ArrowLeft" ? -1 : 1;
      const linked = [...b.ins.map((e) => e.from), ...b.outs.map((e) => e.to)].flatMap((q) => [...q.ins.map((e) => e.from), ...q.outs.map((e) => e.to)]);
      const beside = (list) => list.filter((q) => (q.x - b.x) * dir > 1 && Math.abs(q.y - b.y) < Math.max(q.h, b.h));
      to = near(beside(geo.list)) || near(linked.filter((q) => q !== b && (q.x - b.x) * dir > 1));
    }
    if (to) select(to.id);
  }

  // --- side panel
  const link = (id, text) => nodes.get(id)
    ? h("button.link", { "data-to": id, onclick: () => { toLevelOf(id); select(id, { open: true }); } }, text || title(nodes.get(id)))
    : text || "";
  function toLevelOf(id) {
    if (geo.boxes.has(id)) return;
    const other = Object.keys(store.doc.levels || {}).find((name) => store.doc.levels[name].nodes.some((b) => b.id === id));
    if (other) setLevel(other);
  }
  function copyButton(text) {
    const b = button("Copy the fix", { class: "lm-copy", "data-copy": text, onclick: async () => {
      try { await navigator.clipboard.writeText(text); }
      catch { // no permission, or not a secure context
        const t = h("textarea.sr", {}, text);
        root.append(t); t.select(); document.execCommand("copy"); t.remove(); b.focus();
      }
      b.textContent = "copied";
      setTimeout(() => (b.textContent = "copy"), 1400);
    } }, "copy");
    return b;
  }
  function codeLine(f) {
    const text = f.source || "";
    if (!text) return null;
    const a = f.column, z = f.end_column == null ? text.length : f.end_column;
    const parts = a == null || a >= text.length ? [text.trim()] : [text.slice(0, a).trimStart(), h("u", {}, text.slice(a, Math.max(z, a + 1))), text.slice(Math.max(z, a + 1)).trimEnd()];
    return h("pre.code", {}, h("span.no", { title: f.cell || "" }, f.line ?? ""), h("code", {}, ...parts));
  }
  function fixBlock(f) {
    const d = f.diff;
    if (!f.fix && !d) return null;
    return [h("div.fix", {}, h("span.fixlabel", {}, "fix"), h("code", {}, d && d.says_fix ? d.cell && `in ${d.cell}` : f.fix), copyButton(d ? d.copy : f.fix)),
      d && h("pre.diff", {}, ...d.rows.map(([sign, line, a, mark, z]) => h({ "-": "del", "+": "ins" }[sign] || "span", {},
        h("span.no", {}, line ?? ""), h("span.sign", {}, sign), h("code", {}, a, mark && h("mark", {}, mark), z))), d.more > 0 && h("span", {}, `and ${plural(d.more, "more line")}`))];
  }
  function warningItem(f) {
    return h("li", { "data-key": [f.code, f.node, f.line].join(), class: `lm-warn lm-w-${f.severity}${ui.sel && f.node === ui.sel ? " lm-cur" : ""}` },
      h("div.wtop", {}, icon(f.severity),
        h("span.kind", {}, kindText(f)),
        f.count > 1 && h("span.count", { title: `happened ${f.count} times` }, `× ${f.count.toLocaleString("en")}`),
        h("span.gap", {}),
        f.node && nodes.get(f.node) && h("button", { class: "lm-link lm-goto", "aria-label": `Show ${f.variable || title(nodes.get(f.node))} on the graph`,
          onclick: () => { toLevelOf(f.node); select(f.node); } }, f.variable || title(nodes.get(f.node)))),
      h("p.msg", {}, prose(f.message)), codeLine(f),
      f.symptom_line && f.symptom_line !== f.line ? h("p.symptom", {}, `noticed at line ${f.symptom_line}`) : null,
      ...(fixBlock(f) || []),
      f.code && h("span.id", {}, f.code));
  }
  function warningsPanel() {
    const all = found();
    if (!all.length) return [h("p.none", {}, state().running ? "No warnings so far." : "No warnings.")];
    const rank = { error: 0, warning: 1, info: 2 };
    return [h("ul.warns", {}, [...all].sort((a, b) => (rank[a.severity] ?? 3) - (rank[b.severity] ?? 3)).map(warningItem))];
  }
  const COLUMNS = [["name", (n) => title(n).toLowerCase()], ["shape", (n) => (n.shape || []).reduce((a, b) => a * b, 1)], ["grad", (n) => (n.has_grad ? +(n.grad_norm ?? (n.stats || {}).norm ?? 0) : -1)], ["line", (n) => n.line || 0]];
  function tensorsPanel() {
    let list = [...nodes.values()].filter((n) => n.kind === "tensor" && (n.name || geo.boxes.has(n.id)));
    if (ui.hits) list = list.filter((n) => ui.hits.has(n.id));
    const [by, dir] = ui.sort, col = COLUMNS.find((c) => c[0] === by);
    if (col) list.sort((a, b) => { const p = col[1](a), q = col[1](b); return (p < q ? -1 : p > q ? 1 : 0) * dir; });
    if (!list.length) return [h("p.none", {}, ui.hits ? "No tensor matches." : "No tensors yet.")];
    const rows = list.slice(0, ROW_LIMIT).map((n) => h("tr", { class: n.id === ui.sel ? "lm-cur" : "", "data-row": n.id, onclick: () => { toLevelOf(n.id); select(n.id); } },
      h("td", {}, glyph(n.state)),
      h("td", { title: `${n.name || title(n)}: ${n.state}` }, h("button", { class: `lm-link${n.state === "dead name" ? " lm-dead" : ""}` }, tail(n.name || `(${title(n)})`, 19))),
      h("td", {}, shapeText(n)), h("td.r", {}, !ui.running && isCleared(n) && n.has_grad ? "cleared" : n.has_grad ? h("b.gpill", {}, num(n.grad_norm ?? (n.stats || {}).norm) || "yes") : "–"),
      h("td.r", {}, n.line ?? "")));
    return [h("table.table", {},
      h("thead", {}, h("tr", {}, h("th", {}, h("span.sr", {}, "state")), COLUMNS.map(([name]) =>
        h("th", { "aria-sort": name === by ? (dir > 0 ? "ascending" : "descending") : "none", class: name === "name" || name === "shape" ? "" : "lm-r" },
          h("button", { "data-sort": name, onclick: () => { ui.sort = [name, name === ui.sort[0] ? -ui.sort[1] : name === "grad" ? -1 : 1]; renderSide(); } }, name, name === by ? (dir > 0 ? " ▴" : " ▾") : ""))))),
      h("tbody", {}, rows)),
      list.length > ROW_LIMIT && h("p.none", {}, `and ${(list.length - ROW_LIMIT).toLocaleString("en")} more: search to narrow the list`)];
  }
  function nodePanel() {
    const n = nodes.get(ui.sel);
    if (!n) return [h("p.none", {}, "Select a node: click it, or use the arrow keys on the graph.")];
    const rows = [], row = (name, ...v) => { if (v.flat().some((x) => x !== "" && x != null && x !== false)) rows.push(h("dt", {}, name), h("dd", {}, ...v)); };
    const tensor = n.kind === "tensor";
    row("names", (n.names || []).map((b) => h("span", { class: `lm-chip${b.current ? "" : " lm-dead"}`, title: b.current ? "" : "points elsewhere now" }, b.name, h("i", {}, b.line ? ` line ${b.line}` : ""))));
    for (const name of new Set((n.names || []).map((b) => b.name))) {
      const past = [...nodes.values()].flatMap((m) => (m.names || []).filter((b) => b.name === name).map((b) => [b, m]));
      // The story of a rebound name: which tensor it pointed to, from which line on.
      if (past.length > 1) row(`${name} was`, past.slice(-9).map(([b, m]) => h("div", {}, `from line ${b.line ?? "?"} `, m === n ? `${m.state} (this)` : link(m.id, m.state))));
    }
    row("op", n.op && n.op !== title(n) ? n.op : "", !tensor && n.name !== title(n) ? ` ${n.name}` : "");
    row("source", n.source && h("code.src", {}, n.source));
    row("made at", [n.cell, n.line && (n.end_line && n.end_line !== n.line ? `lines ${n.line}–${n.end_line}` : `line ${n.line}`)].filter(Boolean).join(", "));
    gradRows(n, row);
    row("ran", n.count > 1 ? `× ${n.count.toLocaleString("en")}` : "");
    row("module", n.module !== n.name && n.module);
    row("shape", shapeText(n), n.dtype ? ` ${n.dtype.replace("torch.", "")}` : "", n.device ? ` on ${n.device}` : "");
    if (tensor) {
      row("flags", ["is_leaf", "requires_grad", "retains_grad"].map((f) => h("span", { class: `lm-chip ${n[f] ? "lm-yes" : "lm-no2"}`, "aria-label": `${f}: ${n[f] ? "True" : "False"}` }, f, n[f] ? " ✓" : " –")));
      row("version", String(n.version || 0), (n.writes || []).length ? ` written in place at line${n.writes.length > 1 ? "s" : ""} ${n.writes.join(", ")}` : "");
      row(".grad", n.has_grad ? [h("b.gpill", {}, n.grad_norm == null ? "filled" : `norm ${num(n.grad_norm)}`), n.grad_preview && h("pre.vals", {}, n.grad_preview)] : "None");
      row("values", n.preview && h("pre.vals", {}, n.preview));
      row("view of", n.base && link(n.base));
    }
    row("hooks", n.hooks ? String(n.hooks) : "");
    const b = geo.boxes.get(n.id), links = (list) => [...new Set(list.map((q) => q.id))].slice(0, 12).map((id) => link(id));
    if (b) { row("from", links(b.ins.map((e) => e.from))); row("used by", links(b.outs.map((e) => e.to))); }
    const hits = found().filter((f) => f.node === n.id);
    return [h("div.ntop", {}, glyph(n.state), h("strong", { class: n.state === "dead name" ? "lm-dead" : "" }, title(n)), h("span.gap", {}),
      button("Close (Esc)", { class: "lm-close", onclick: close }, "×")),
      h("p.state", {}, look(n).t), gradBlock((geo.boxes.get(n.id) || {}).src || n, ui.scale), hits.length ? h("ul.warns", {}, hits.map(warningItem)) : null, h("dl.dl", {}, rows)];
  }
  function close() {
    select(null);
    stage.focus({ preventScroll: true });
  }
  const PANELS = { warnings: warningsPanel, tensors: tensorsPanel, parameters: parametersPanel, node: nodePanel };
  function parametersPanel() { return parameterTable(parametersOf(store.doc, nodes), ui, ROW_LIMIT / 2); }
  let sideKey = "", sideAt = 0, sideCost = 0, sideSoon = 0;
  function renderSide(fromData) {
    // A long table takes longer to make than a reader takes to read one number of it.
    const begin = performance.now(), wait = sideAt + 20 * sideCost - begin;
    clearTimeout(sideSoon);
    if (fromData && wait > 0) return void (sideSoon = setTimeout(() => renderSide(), wait));
    body.classList.toggle("lm-wide", ui.tab === "parameters");
    const all = found(), worst = all.some((f) => f.severity === "error") ? "error" : all.some((f) => f.severity === "warning") ? "warning" : "info";
    const table = ((store.doc.training || {}).parameters || []).length > 0;
    const items = [["warnings", "Warnings", all.length], ["tensors", "Tensors", [...nodes.values()].filter((n) => n.kind === "tensor" && (n.name || geo.boxes.has(n.id))).length], table && ["parameters", "Params", null], ["node", "Details", null]].filter(Boolean);
    morph(tabs, items.map(([id, label, n]) => h("button", {
      role: "tab", "data-tab": id, "aria-label": id === "parameters" ? "Parameters" : null, "aria-selected": String(ui.tab === id), "aria-controls": panel.id, tabindex: ui.tab === id ? 0 : -1,
      onclick: () => { ui.tab = id; ui.chosen = true; renderSide(); },
    }, id === "warnings" && n ? icon(worst, 12) : null, label, n == null || (table && id === "tensors") ? null : h("span.num", {}, n.toLocaleString("en")))));
    const key = ui.tab + (ui.tab === "node" ? ui.sel : "");
    panel.setAttribute("aria-label", ui.tab);
    morph(panel, PANELS[ui.tab]());
    if (key !== sideKey) panel.scrollTop = 0;
    sideKey = key;
    sideAt = performance.now();
    sideCost = sideAt - begin;
  }

  // --- header, legend, footer
  function renderHead() {
    const st = state(), label = (store.doc.cell || {}).label || "Cell";
    cellName.textContent = label;
    root.setAttribute("aria-label", `Autograd graph of ${label}`);
    stage.setAttribute("aria-label", `Autograd graph of ${label}: ${plural(geo.list.length, "box").replace("boxs", "boxes")}`);
    root.classList.toggle("lm-running", !!st.running);
    const ago = st.running && store.got ? (performance.now() - store.got) / 1e3 : 0;
    const word = st.error ? "stopped" : st.running ? "running" : "done";
    const text = [word, st.steps ? plural(st.steps, "step") : "", seconds((st.duration_s || 0) + ago)].filter(Boolean).join(" · ");
    status.className = `lm-status lm-st-${word}`;
    morph(status, [h("i.dot", {}), text, st.error && h("span.err", { title: st.error }, st.error)]);
    const names = Object.keys(store.doc.levels || {});
    if (levels.childElementCount !== names.length) levels.replaceChildren(...names.map((name) => button(name === "names" ? "One box per named tensor" : "Every autograd node", { "data-level": name, "aria-label": null, onclick: () => setLevel(name) }, name)));
    for (const b of levels.children) b.setAttribute("aria-pressed", String(b.dataset.level === ui.level));
    levels.hidden = names.length < 2;
    const lines = [...(st.notes || [])];
    if (st.cut) lines.push("The graph was cut: only part of what ran is shown.");
    notes.hidden = !lines.length;
    morph(notes, lines.map((t) => h("div", {}, t)));
  }
  function renderFoot() {
    const st = state();
    let tensors = 0, leaves = 0, ops = 0;
    for (const n of nodes.values()) {
      if (n.kind === "op") ops++;
      else { tensors++; if (n.is_leaf && n.requires_grad) leaves++; }
    }
    // Drawing goes on after a short cell has ended: a share says something of long ones only.
    const own = st.overhead_s || 0, share = st.duration_s ? (100 * own) / st.duration_s : 0;
    const percent = st.duration_s > 1 && share < 100 ? ` (${share < 0.1 ? "< 0.1" : share.toFixed(share < 9.95 ? 1 : 0)} %)` : "";
    const m = (store.doc.training || {}).sampled || {}, some = m.of && (m.passes < m.of || m.cut);
    morph(foot, [[plural(ops, "autograd node"), plural(tensors, "tensor"), `${leaves.toLocaleString("en")} trainable ${leaves === 1 ? "leaf" : "leaves"}`].map((t) => h("span", {}, t)),
      some ? h("span", { title: "--grads auto measures as often as its share of the time allows" }, `gradients measured in ${m.passes.toLocaleString("en")} of ${m.of.toLocaleString("en")} passes${m.share == null ? "" : `, ${num(100 * m.share)} % of the time`}${m.cut ? `; only at the ${plural(m.cut, "node")} nearest to the loss` : ""}`) : "",
      h("span.gap", {}),
      st.duration_s ? h("span", { title: "What leafmagic itself took: recording, explaining and drawing" }, `${seconds(st.duration_s)} · leafmagic ${seconds(own)}${percent}`) : ""]);
  }
  function renderLegend() {
    const has = new Set(geo.list.map((b) => b.node.state)), kinds = new Set(geo.edges.map((e) => e.kind));
    const states = Object.keys(LOOK).filter((k) => ui.all || has.has(k));
    const sample = (kind) => s("svg", { class: `lm-glyph lm-edge lm-e-${kind}`, width: 24, height: 14, "aria-hidden": "true" }, s("path.line", { d: "M1 7h22", "stroke-dasharray": dashes(kind) }));
    const any = (f) => geo.list.some((b) => f(b.node));
    const badge = (test, el, text) => (ui.all || test ? h("li", {}, el, text) : null);
    legend.classList.toggle("lm-all", ui.all);
    morph(legend, [h("ul", {},
      states.map((k) => h("li", { title: LOOK[k].t }, glyph(k), !ui.all || LOOK[k].t.startsWith(k) ? (ui.all ? LOOK[k].t : k) : `${k}: ${LOOK[k].t}`)),
      Object.keys(EDGES).filter((k) => ui.all || kinds.has(k)).map((k) => h("li", {}, sample(k), EDGES[k][1])),
      badge(any((n) => n.has_grad && (ui.running || !isCleared(n))), h("b.gpill", {}, "grad"), ".grad filled"),
      badge(!ui.running && any((n) => n.has_grad && n.grad_state === "used"), h("b.gpill.used", {}, "grad"), "used by a step"),
      badge(!ui.running && any(isCleared), h("b.gpill.cleared", {}, "cleared"), ".grad was cleared"),
      ...(ui.scale && ui.grads ? [scaleBar(ui.scale), ...[["▽", "vanishing: below 1e-6"], ["△", "exploding: above 1e3"]].filter(([k]) => ui.all || geo.list.some((b) => signOf(normOf(b.src)) === k)).map(([k, t]) => h("li", {}, h("b.sign", {}, k), t))] : []),
      badge(any((n) => n.hooks), s("svg.hook.glyph", { width: 16, height: 14, viewBox: "-1 -2 16 16" }, s("circle", { cx: 7, cy: 6, r: 7 }), s("path", { d: HOOK })), "hook"),
      ui.all && Object.keys(ICON).map((k) => h("li", {}, icon(k), k))),
      h("button", { class: "lm-link", "aria-expanded": String(ui.all), onclick: () => { ui.all = !ui.all; renderLegend(); legend.querySelector("button").focus(); } }, ui.all ? "only what is shown" : "all marks")]);
  }
  function setLevel(name) {
    if (ui.level === name) return;
    ui.level = name;
    follow = "home";
    refresh(true);
    if (geo.boxes.has(ui.sel)) reveal(ui.sel);
  }

  // --- one refresh: data -> geometry -> picture, keeping what the reader did
  function refresh(jump) {
    queued = 0;
    const doc = store.doc, lv = doc.levels || {};
    if (!lv[ui.level]) ui.level = Object.keys(lv)[0] || "names";
    const anchorId = !follow && !jump && anchor();
    const before = anchorId && geo.boxes.get(anchorId);
    const was = geo;
    nodes = new Map((doc.nodes || []).map((n) => [n.id, n]));
    geo = prepare(lv[ui.level], nodes);
    const level = lv[ui.level] || {}, loop = doc.training || {}, reach = (loop.reach || {})[ui.root];
    if (!reach) ui.root = "";
    ui.marks = level.markers || {};
    ui.breaks = level.breaks || {};
    ui.failed = level.failed || [];
    const ended = ui.running && !(doc.status || {}).running;
    ui.running = !!(doc.status || {}).running;
    if (ended && follow === "home") follow = "end";
    ui.scale = scaleOf(nodes, ui.running ? ui.scale : null);
    ui.reach = reach ? new Set(reach) : null;
    heat.hidden = !ui.scale;
    heat.firstChild.setAttribute("aria-pressed", String(ui.grads));
    renderTrain();
    if ((doc.findings || []).length && !ui.chosen && ui.tab === "tensors") ui.tab = "warnings";
    const want = geo.list.length > SVG_LIMIT ? canvasRenderer : svgRenderer;
    if (!painter || painter.make !== want) {
      if (painter) painter.destroy();
      painter = want(stage, root);
      painter.make = want;
    }
    empty.hidden = geo.list.length > 0;
    empty.textContent = ui.running ? "waiting for the first tensor…" : "No autograd graph: nothing in this cell requires grad";
    renderLegend();
    sizeBody();
    const q = search.value.trim();
    if (q) runSearch(true);
    painter.update(geo, ui);
    const after = before && geo.boxes.get(anchorId);
    if (after) setCam(cam.x - (after.x - before.x) * cam.k, cam.y - (after.y - before.y) * cam.k, cam.k);
    else if (follow) {
      const same = was.x0 === geo.x0 && was.x1 === geo.x1 && was.y0 === geo.y0 && was.y1 === geo.y1;
      if (!same || jump || ended) fit(!jump && was.list.length > 0);
    }
    painter.camera(cam);
    drawMini();
    renderHead(); renderFoot(); renderSide(true);
  }
  let trainWidth = 0;
  function renderTrain() {
    const t = store.doc.training || {}, worth = t.steps > 1 || (t.loops || []).length > 0;
    train.hidden = !worth;
    if (!worth) return;
    // Inner loops come and go: while the width is the same it grows and never shrinks.
    if (trainWidth !== root.clientWidth) train.style.minHeight = "";
    trainWidth = root.clientWidth;
    morph(train, trainStrip(t, ui));
    train.style.minHeight = `${train.offsetHeight}px`;
  }
  function anchor() { // the selected box where it is in sight, otherwise the one nearest to the middle
    const W = stage.clientWidth, H = stage.clientHeight, cx = (W / 2 - cam.x) / cam.k, cy = (H / 2 - cam.y) / cam.k;
    if (geo.boxes.has(ui.sel)) return ui.sel;
    let best = null, least = Infinity;
    for (const b of geo.list) {
      const d = (b.x - cx) ** 2 + (b.y - cy) ** 2;
      if (d < least) { least = d; best = b.id; }
    }
    return best;
  }
  function sizeBody() { // grows with the graph, never shrinks: the page below must not jump about
    const W = stage.clientWidth || 600;
    const need = geo.list.length ? (geo.y1 - geo.y0) * Math.min(1, (W - BUTTONS - 40) / Math.max(1, geo.x1 - geo.x0)) + 50 + legend.offsetHeight : 0;
    const next = Math.max(height, Math.round(clamp(need, 320, 520)));
    if (next !== height) {
      height = next;
      body.style.setProperty("--lm-h", `${height}px`);
    }
  }
  function onData() { queued ||= requestAnimationFrame(() => refresh()); }

  // --- pointer, wheel, keys
  const at = (e) => { const r = stage.getBoundingClientRect(); return [e.clientX - r.left, e.clientY - r.top]; };
  function boxAt(e) {
    const [px, py] = at(e), x = (px - cam.x) / cam.k, y = (py - cam.y) / cam.k, pad = 3 / cam.k;
    let best = null;
    for (const b of geo.list) if (Math.abs(x - b.x) <= b.w / 2 + pad && Math.abs(y - b.y) <= b.h / 2 + pad) best = b;
    return best;
  }
  function showTip(e, b) {
    tip.hidden = !b;
    if (!b) return;
    const n = b.node, hits = found().filter((f) => f.node === n.id);
    const line = (cls, t) => t && h("div", { class: cls }, t);
    tip.replaceChildren(...[
      h("div.ttop", {}, glyph(n.state), h("strong", {}, title(n)), h("span", {}, n.state === "op" ? "autograd node" : n.state)),
      line("lm-tcode", n.source), line("", [shapeText(n), (n.dtype || "").replace("torch.", ""), n.device !== "cpu" && n.device, where(n)].filter(Boolean).join(" · ")),
      line("", n.has_grad ? `.grad norm ${num(n.grad_norm) || "not measured"}` : ""), line("", !n.has_grad && b.src && b.src.stats ? `gradient norm here ${num(b.src.stats.norm)}` : ""),
      line("", n.passes > 1 ? `.grad is the sum of ${n.passes} passes` : ""), line("", n.ran_of > n.ran ? `in ${n.ran} of ${n.ran_of} steps` : ""),
      line("", ui.breaks[b.id] ? `a sound gradient became ${ui.breaks[b.id]} here` : ""), line("", ui.failed.includes(b.id) ? "the error came from here" : ""), line("", n.version ? `version ${n.version}` : ""),
      line("", n.hooks ? plural(n.hooks, "hook") : ""), line("", n.count > 1 ? `ran × ${n.count}` : ""),
      ...hits.map((f) => h("div.tw", {}, icon(f.severity, 12), h("span", {}, prose(elide(f.message || "", 200)))))].filter(Boolean));
    const [px, py] = at(e), W = stage.clientWidth, H = stage.clientHeight;
    tip.style.left = tip.style.top = "0"; // its size is not that of where it stood before
    tip.style.left = `${clamp(px + 14, 4, Math.max(4, W - tip.offsetWidth - 6))}px`;
    const high = tip.offsetHeight, below = py + 18;
    tip.style.top = `${below + high > H - 4 ? Math.max(4, Math.min(py - high - 12, H - high - 4)) : below}px`;
  }
  const pointers = new Map();
  let drag = null;
  function setArmed(on) { armed = on; stage.classList.toggle("lm-armed", on); if (on) hint.hidden = true; }
  function listen(el, type, fn, options) { el.addEventListener(type, fn, { signal, ...options }); }
  listen(stage, "pointerdown", (e) => {
    if (e.button) return;
    pointers.set(e.pointerId, at(e));
    setArmed(true);
    if (pointers.size === 1) drag = { from: at(e), cam: { ...cam }, moved: false, box: boxAt(e) };
    cancelAnimationFrame(moving);
  });
  listen(stage, "pointermove", (e) => {
    if (!pointers.has(e.pointerId)) {
      const b = boxAt(e), id = b && b.id;
      if (id !== ui.hover) { ui.hover = id; painter.mark(ui); stage.classList.toggle("lm-over", !!b); }
      return showTip(e, b);
    }
    const old = pointers.get(e.pointerId), now = at(e);
    pointers.set(e.pointerId, now);
    if (pointers.size === 2) { // pinch
      const [other] = [...pointers].filter(([id]) => id !== e.pointerId).map(([, p]) => p);
      const span = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]) || 1;
      drag = null;
      return zoom(span(now) / span(old), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    if (!drag) return;
    const dx = now[0] - drag.from[0], dy = now[1] - drag.from[1];
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    if (!drag.moved) { drag.moved = true; stage.setPointerCapture(e.pointerId); stage.classList.add("lm-drag"); tip.hidden = true; }
    follow = null;
    setCam(drag.cam.x + dx, drag.cam.y + dy, cam.k);
  });
  const up = (e) => {
    if (!pointers.delete(e.pointerId)) return;
    stage.classList.remove("lm-drag");
    if (e.type === "pointerup" && drag && !drag.moved) {
      stage.focus({ preventScroll: true });
      if (drag.box) select(drag.box.id, { show: false, open: true });
      else if (ui.sel) select(null);
    }
    drag = null;
  };
  const jump = (e) => {
    if (!e.buttons) return;
    const r = mini.getBoundingClientRect();
    follow = null;
    cancelAnimationFrame(moving);
    const x = geo.x0 + ((e.clientX - r.left) / r.width) * (geo.x1 - geo.x0), y = geo.y0 + ((e.clientY - r.top) / r.height) * (geo.y1 - geo.y0);
    setCam(stage.clientWidth / 2 - x * cam.k, stage.clientHeight / 2 - y * cam.k, cam.k);
  };
  listen(mini, "pointerdown", (e) => { mini.setPointerCapture(e.pointerId); jump(e); });
  listen(mini, "pointermove", jump);
  listen(stage, "pointerup", up);
  listen(stage, "pointercancel", up);
  listen(stage, "pointerleave", () => { setArmed(false); hint.hidden = true; tip.hidden = true; if (ui.hover) { ui.hover = null; painter.mark(ui); } });
  listen(stage, "dblclick", (e) => zoom(1.6, ...at(e)));
  listen(stage, "wheel", (e) => {
    if (!(e.ctrlKey || e.metaKey || armed)) { hint.hidden = geo.list.length === 0; return; }
    e.preventDefault();
    zoom(Math.exp(-e.deltaY * (e.deltaMode ? 0.05 : e.ctrlKey ? 0.008 : 0.0022)), ...at(e));
  }, { passive: false });
  listen(stage, "blur", () => setArmed(false));
  listen(stage, "keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const key = e.key;
    tip.hidden = true;
    if (key.startsWith("Arrow")) arrow(key);
    else if (key === "Enter") { if (!ui.sel) arrow("ArrowDown"); select(ui.sel, { open: true }); panel.focus({ preventScroll: true }); }
    else if (key === "Escape") { setArmed(false); if (ui.sel) select(null); else if (search.value) { search.value = ""; runSearch(); } }
    else if (key === "+" || key === "=") zoom(1.35);
    else if (key === "-" || key === "_") zoom(1 / 1.35);
    else if (key === "0" || key === "f") fitAll();
    else return;
    e.preventDefault();
  });
  listen(search, "input", () => runSearch());
  listen(search, "keydown", (e) => {
    if (e.key === "Enter") { e.preventDefault(); nextHit(e.shiftKey ? -1 : 1); }
    else if (e.key === "Escape") { e.preventDefault(); search.value = ""; runSearch(); stage.focus({ preventScroll: true }); }
  });
  listen(train, "click", (e) => {
    const to = e.target.closest("[data-pick]");
    if (!to) return;
    ui.root = to.dataset.pick;
    refresh();
  });
  const readCurve = (e) => {
    const c = e.target.closest(".lm-plot"), r = c && c.getBoundingClientRect();
    const was = ui.read;
    ui.read = c && e.type !== "pointerleave" ? [c.parentNode.dataset.root, clamp((e.clientX - r.left) / r.width, 0, 1)] : null;
    if (was || ui.read) renderTrain();
  };
  listen(train, "pointermove", readCurve);
  listen(train, "pointerleave", readCurve);
  listen(panel, "input", (e) => {
    if (!e.target.matches(".lm-pfind")) return;
    ui.pq = e.target.value;
    renderSide();
  });
  listen(panel, "click", (e) => {
    const sort = e.target.closest("[data-psort]"), row = ui.tab === "parameters" && e.target.closest("[data-row]");
    if (sort) {
      const name = sort.dataset.psort, again = name === ui.psort[0], first = /norm|update|passes/.test(name) ? -1 : 1;
      // The third click brings the order of the modules back.
      ui.psort = again && ui.psort[1] !== first ? ["", 1] : [name, again ? -first : first];
      renderSide();
    } else if (row && nodes.has(row.dataset.row)) { toLevelOf(row.dataset.row); select(row.dataset.row); }
  });
  listen(panel, "keydown", (e) => { if (e.key === "Escape") { e.preventDefault(); close(); } });
  listen(tabs, "keydown", (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key], ids = [...tabs.children].map((b) => b.dataset.tab);
    if (!step) return;
    e.preventDefault();
    ui.tab = ids[(ids.indexOf(ui.tab) + step + ids.length) % ids.length];
    ui.chosen = true;
    renderSide();
    tabs.querySelector('[aria-selected="true"]').focus();
  });
  listen(root, "keydown", (e) => {
    if (e.key === "/" && e.target !== search && !e.ctrlKey && !e.metaKey) { e.preventDefault(); search.focus(); search.select(); }
    if (!(e.ctrlKey || e.metaKey)) e.stopPropagation();
  });
  // JupyterLab looks for this attribute before it matches a shortcut. Ctrl and Cmd
  // combinations (save, command palette) are left to it: window comes before document.
  listen(window, "keydown", (e) => {
    if (root.contains(e.target)) root.toggleAttribute("data-lm-suppress-shortcuts", true), e.ctrlKey || e.metaKey ? root.removeAttribute("data-lm-suppress-shortcuts") : root.setAttribute("data-lm-suppress-shortcuts", "true");
  }, { capture: true });

  // --- life
  const sizes = new ResizeObserver(() => {
    root.classList.toggle("lm-narrow", root.clientWidth > 0 && root.clientWidth < 720);
    if (follow) fit(false);
    if (painter) painter.camera(cam);
  });
  sizes.observe(stage); sizes.observe(root);
  const themes = new MutationObserver(() => { miniKey = null; if (painter) painter.update(geo, ui); drawMini(); });
  themes.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-name", "data-jp-theme-light", "class"] });
  const clock = setInterval(() => { if (state().running && store.got) renderHead(); }, 250);
  store.views.add(onData);
  signal.addEventListener("abort", () => {
    store.views.delete(onData);
    sizes.disconnect(); themes.disconnect(); clearInterval(clock); clearTimeout(sideSoon);
    cancelAnimationFrame(queued); cancelAnimationFrame(moving);
    if (painter) painter.destroy();
  });
  refresh(true);
}

export default () => {
  let store = null; // made once for each model, so that no batch is lost between two views
  return {
    initialize({ model }) { store ||= makeStore(model); },
    render({ model, el }) {
      store ||= makeStore(model);
      const stop = new AbortController();
      const root = h("section", { class: "lm", role: "region", "data-lm-suppress-shortcuts": "true" });
      el.append(root);
      view(store, root, model.get("twin_id"), stop.signal);
      return () => { stop.abort(); root.remove(); };
    },
  };
};

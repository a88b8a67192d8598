// Gradients and the training loop: joined to leafmagic.js, whose helpers it uses.

// as leafmagic/render/heat.py
const HEAT = ["#2B4C9B", "#435C95", "#5A6C8F", "#727A84", "#8A8778", "#A59664", "#BFA54F", "#D8B83F", "#F0CB2E"];
const SPARK = [34, 13]; // the size of a trend on a box
const val = (v) => (v == null ? null : v === "inf" ? Infinity : v === "-inf" ? -Infinity : +v);
const normOf = (n) => (n && n.stats ? val(n.stats.norm) : null);
const signOf = (v) => (v == null ? "" : isNaN(v) ? "nan" : v === Infinity ? "inf" : v < 1e-6 ? "▽" : v > 1e3 ? "△" : "");
const log10 = (v) => Math.log10(Math.max(v, 1e-12));
const heatOf = (v, [lo, hi]) => (isNaN(v) ? "#D55E00" : HEAT[clamp(Math.floor(((log10(v) - lo) / (hi - lo)) * HEAT.length), 0, HEAT.length - 1)]);
const power = (k) => `1e${k}`;
const whole = (v) => v.toLocaleString("en");

// The decades that all norms lie in. While a cell runs it only grows: colours must not swim.
function scaleOf(nodes, old) {
  let lo = Infinity, hi = -Infinity;
  for (const n of nodes.values()) {
    const v = normOf(n);
    if (v == null) continue;
    if (v >= 1e-6 && v <= 1e3) { lo = Math.min(lo, Math.floor(Math.log10(v))); hi = Math.max(hi, Math.ceil(Math.log10(v))); }
    else if (lo > hi) [lo, hi] = old || [lo, hi];
  }
  if (lo > hi) return [...nodes.values()].some((n) => n.stats) ? old || [-6, 3] : null;
  if (hi - lo < 1) lo--, hi = Math.max(hi, lo + 1);
  return old ? [Math.min(lo, old[0]), Math.max(hi, old[1])] : [lo, hi];
}
// Lines of values over a width and a height; what is not finite leaves a gap.
function lineOf(xs, ys, w, t, { log, least = 0 } = {}) {
  const at = ys.map((v) => (v == null || !isFinite(v) ? null : log ? log10(v) : v)), known = at.filter((v) => v != null);
  if (known.length < 2) return "";
  let lo = Math.min(...known), hi = Math.max(...known);
  const more = Math.max(hi - lo > 0 ? 0 : 1e-9, (least - hi + lo) / 2);
  lo -= more; hi += more;
  let d = "", on = false;
  at.forEach((v, i) => {
    if (v != null) d += `${on ? "L" : "M"}${((xs(i)) * w).toFixed(1)} ${(((hi - v) / (hi - lo)) * t).toFixed(1)}`;
    on = v != null;
  });
  return d;
}
const sparkOf = (trend, w, t) => (trend && trend.length > 1 ? lineOf((i) => i / (trend.length - 1), trend.map(val), w, t, { log: true, least: 0.5 }) : "");
// The coloured strip at the left, within the rounded corners of its box.
function stripOf(x, y, t, r, w) {
  if (!r) return `M${x} ${y}h${w}v${t}h${-w}z`;
  if (r <= w) return `M${x + w} ${y}h${r - w}a${r} ${r} 0 0 0 ${-r} ${r}v${t - 2 * r}a${r} ${r} 0 0 0 ${r} ${r}h${w - r}z`;
  const i = r - Math.sqrt(r * r - (r - w) ** 2);
  return `M${x + w} ${y + i}A${r} ${r} 0 0 0 ${x} ${y + r}V${y + t - r}A${r} ${r} 0 0 0 ${x + w} ${y + t - i}z`;
}
// What a box shows of its gradient: colour, trend, and one word where something is wrong.
function gradFace(b, ui) {
  const n = b.node, v = normOf(b.src), on = ui.grads && ui.scale && v != null, sign = on && signOf(v), broke = ui.breaks[b.id];
  return {
    hot: on ? heatOf(v, ui.scale) : "",
    spark: on && b.spark ? sparkOf(b.src.trend, ...SPARK) : "",
    flag: ui.failed.includes(b.id) ? "✕ error" : broke ? `${broke} born here` : sign ? (sign.length > 1 ? sign : v > 0 ? `${sign} ${power(Math.floor(Math.log10(v)))}` : `${sign} 0`) : "",
    alarm: ui.failed.includes(b.id) || !!broke,
    ran: n.ran && n.ran < n.ran_of ? `${whole(n.ran)}/${whole(n.ran_of)}` : "",
    old: n.in_newest === false && !broke && !ui.failed.includes(b.id),
    shift: on ? ((b.heat || 0) - (b.spark || 0)) / 2 : 0,
  };
}
// Cleared away, or filled with zeros.
const isCleared = (n) => n.grad_state === "cleared" && !n.grad_norm;
// The badge of a leaf. It stands still while the cell runs: .grad comes and goes with every step.
function gradBadge(n, ui) {
  const seen = ui.sums.get(n.id) || 0, sum = Math.max(ui.running ? seen : 0, n.passes || 0);
  ui.sums.set(n.id, Math.max(seen, sum));
  const many = sum > 1 ? ` Σ${sum > 999 ? "999+" : sum}` : "";
  const filled = n.stats && ((n.is_leaf && n.requires_grad) || n.retains_grad);
  if (ui.running) return n.has_grad || filled ? ["grad" + many, ""] : ["", ""];
  if (isCleared(n) && filled) return ["cleared", "cleared"];
  return n.has_grad ? ["grad" + many, n.grad_state === "used" ? "used" : ""] : ["", ""];
}
const scaleBar = ([lo, hi]) => h("li.scale", { title: "L2 norm of the gradient that arrives, logarithmic" }, "gradient norm", h("span.r", {}, power(lo)),
  s("svg", { width: 72, height: 9, viewBox: "0 0 72 9", preserveAspectRatio: "none", "aria-hidden": "true" }, HEAT.map((c, i) => s("rect", { x: i * 8, width: 8.3, height: 9, fill: c }))), power(hi));

// ---------- the strip above the graph: how far the loop is, and its losses
const rate = (v) => (v >= 10 ? whole(Math.round(v)) : v.toFixed(v < 1 ? 2 : 1));
function loopRow(l) {
  const part = l.total && l.done != null ? clamp(l.done / l.total, 0, 1) : null;
  return h("div.loop", {}, h("span", { title: l.what }, middle(l.what, 22), l.line ? h("i", {}, ` line ${l.line}`) : ""), h("span", {}, l.done == null ? "" : whole(l.done), l.total ? h("i", {}, ` of ${whole(l.total)}`) : ""),
    part != null && h("span.bar", { role: "progressbar", "aria-label": `${l.what} line ${l.line}`, "aria-valuemin": 0, "aria-valuemax": l.total, "aria-valuenow": l.done }, h("b", { style: `width:${(part * 100).toFixed(1)}%` })));
}
const rootName = (r) => r.name || "backward";
function chart(r, at) {
  const pts = r.curve || [], ys = pts.map((p) => val(p[1])), known = ys.filter((v) => isFinite(v));
  const x0 = pts.length ? pts[0][0] : 0, x1 = pts.length ? pts[pts.length - 1][0] : 1, lo = Math.min(...known), hi = Math.max(...known);
  const log = lo > 0 && hi / lo > 30, x = (i) => (pts[i][0] - x0) / (x1 - x0 || 1);
  const bad = ys.findIndex((v) => !isFinite(v));
  let near = -1;
  if (at != null) pts.forEach((_, i) => { if (near < 0 || Math.abs(x(i) - at) < Math.abs(x(near) - at)) near = i; });
  return h("div.curve", { "data-root": r.key },
    h("div.ctop", {}, h("strong", {}, rootName(r)), r.line ? h("i", {}, `line ${r.line}`) : "", log && h("i", { title: "logarithmic scale" }, "log"), h("span.gap", {}),
      h("span.last", {}, near >= 0 ? [h("i", {}, `step ${whole(pts[near][0])} `), num(pts[near][1])] : num(r.last))),
    known.length > 1 && h("div.plot", {},
      s("svg", { viewBox: "0 0 100 34", preserveAspectRatio: "none", role: "img", "aria-label": `${rootName(r)} from ${num(ys[0])} to ${num(r.last)}` },
        s("path.grid", { d: "M0 0.5H100M0 33.5H100" }),
        s("path.loss", { d: lineOf(x, ys, 100, 33, { log }) }),
        near >= 0 && s("path.cross", { d: `M${x(near) * 100} 0V34` })),
      h("span.hi", {}, num(hi)), hi > lo && h("span.lo", {}, num(lo)),
      bad >= 0 && h("span.bad", { style: `left:calc((100% - 46px) * ${x(bad).toFixed(3)})`, title: `not finite from step ${pts[bad][0]}` }, "nan")));
}
function trainStrip(t, ui) {
  const roots = t.roots || [], shown = roots.filter((r) => !ui.root || r.key === ui.root), loops = t.loops || [];
  const pick = (key, label) => h("button", { "data-pick": key, "aria-pressed": String((ui.root || "") === key) }, label);
  return [h("div.prog", {}, h("div.steps", {}, t.steps || !loops.length ? h("b", {}, `step ${whole(t.steps || 0)}`) : "", t.per_s ? h("span", {}, `${rate(t.per_s)} steps/s`) : ""), loops.slice(-3).map(loopRow)),
    h("div.losses", {},
      roots.length > 1 && h("div.seg", { role: "group", "aria-label": "Which backward pass" }, pick("", "all"), roots.map((r) => pick(r.key, [middle(rootName(r), 18), r.line ? h("i", {}, ` line ${r.line}`) : ""]))),
      h("div.curves", {}, shown.filter((r) => (r.curve || []).length).slice(0, 3).map((r) => chart(r, ui.read && ui.read[0] === r.key ? ui.read[1] : null))))];
}

// ---------- the table of parameters
const STATE_RANK = { "never reached": 0, "no gradient yet": 1, frozen: 2, trained: 3 };
const PCOLUMNS = [["name", (p) => p.name], ["shape", (p) => p.size || 0], ["grad norm", (p) => val(p.norm) ?? -1], ["update", (p) => val(p.update) ?? -1], ["passes", (p) => p.passes || 0], ["state", (p) => STATE_RANK[p.state] ?? 9]];
function parametersOf(doc, nodes) { // what the node says already is not sent twice
  return ((doc.training || {}).parameters || []).map((p) => {
    const n = nodes.get(p.id), st = n && n.stats;
    return st && !("norm" in p) ? { ...p, norm: st.norm, update: st.update, trend: n.trend, passes: n.passes } : p;
  });
}
function parameterTable(all, ui, limit) {
  const q = ui.pq.trim().toLowerCase(), [by, dir] = ui.psort, col = PCOLUMNS.find((c) => c[0] === by);
  const list = all.filter((p) => !q || p.name.toLowerCase().includes(q) || p.state.includes(q));
  if (col) list.sort((a, b) => { const x = col[1](a), y = col[1](b); return (x < y ? -1 : x > y ? 1 : 0) * dir; });
  const odd = ["never reached", "frozen", "no gradient yet"].map((k) => [all.filter((p) => p.state === k).length, k]).filter(([n]) => n);
  const rows = [];
  let group = "";
  for (const p of list.slice(0, limit)) {
    const inner = !col && p.module && p.name.startsWith(p.module + ".");
    if (!col && p.module !== group) {
      group = p.module;
      if (group) rows.push(h("tr.group", { "data-group": group }, h("th", { colspan: 6, scope: "rowgroup" }, tail(group, 60))));
    }
    const line = sparkOf(p.trend, 56, 13), sign = signOf(val(p.norm));
    rows.push(h("tr", { class: `lm-p-${p.state.replaceAll(" ", "-")}${p.id && p.id === ui.sel ? " lm-cur" : ""}`, "data-row": p.id || "", "data-name": p.name },
      h("td", { title: p.name }, h("button", { class: `lm-link${inner ? " lm-in" : ""}`, disabled: !p.id }, inner ? p.name.slice(p.module.length + 1) : tail(p.name, 44))),
      h("td", {}, p.shape && p.shape.length ? `[${p.shape.join(", ")}]` : "scalar"),
      h("td.r", {}, h("span.norm", {}, line && s("svg.spark", { width: 56, height: 15, viewBox: "0 -1 56 15", "aria-hidden": "true" }, s("path", { d: line })),
        p.norm != null && ui.scale && ui.grads && h("i.dot", { style: `background:${heatOf(val(p.norm), ui.scale)}` }),
        h("span", {}, sign && sign.length < 2 ? `${sign} ` : "", p.norm == null ? "–" : num(p.norm)))),
      h("td.r", {}, p.update == null ? "–" : num(p.update)), h("td.r", {}, p.passes > 1 ? h("b", {}, `Σ ${p.passes}`) : p.passes ?? "–"),
      h("td", {}, h("span.pstate", {}, p.state))));
  }
  const total = all.reduce((a, p) => a + (p.size || 0), 0);
  return [h("div.ptop", {}, h("input", { type: "search", class: "lm-search lm-pfind", placeholder: "Filter by name or state", "aria-label": "Filter the parameters by name or state", spellcheck: "false", autocomplete: "off" }),
    h("span", {}, q ? `${whole(list.length)} of ${plural(all.length, "parameter")}` : `${plural(all.length, "parameter")}, ${whole(total)} values`),
    odd.map(([n, k]) => h("span", { class: `lm-pstate lm-p-${k.replaceAll(" ", "-")}` }, `${whole(n)} ${k}`))),
  list.length ? h("table.table.ptable", {},
    h("thead", {}, h("tr", {}, PCOLUMNS.map(([name]) => h("th", { "aria-sort": name === by ? (dir > 0 ? "ascending" : "descending") : "none", class: /norm|update|passes/.test(name) ? "lm-r" : "" },
      h("button", { "data-psort": name }, name, name === by ? (dir > 0 ? " ▴" : " ▾") : ""))))),
    h("tbody", {}, rows)) : h("p.none", {}, "No parameter matches."),
  list.length > limit && h("p.none", {}, `and ${whole(list.length - limit)} more: filter to narrow the list`)];
}

// ---------- the gradient of one node, in the details
function gradBlock(n, scale) {
  const st = n && n.stats;
  if (!st) return null;
  const v = val(st.norm), line = sparkOf(n.trend, 240, 34), known = (n.trend || []).map(val).filter((t) => isFinite(t)), bars = st.histogram || [], most = Math.max(1, ...bars);
  const fact = (name, text) => text != null && text !== "" && h("div", {}, h("i", {}, name), h("b", {}, text));
  return h("div.gblock", {},
    h("div.gtop", {}, h("i.dot", { style: `background:${scale ? heatOf(v, scale) : ""}` }), h("strong", {}, num(st.norm)), "gradient norm", signOf(v) === "▽" ? "▽ vanishing" : signOf(v) === "△" ? "△ exploding" : "", h("span.gap", {}), h("i", {}, `pass ${whole(st.step)}`)),
    line && h("div.plot", {}, s("svg.spark", { viewBox: "0 -1 240 36", preserveAspectRatio: "none", "aria-hidden": "true" }, s("path", { d: line })),
      h("span.hi", {}, num(Math.max(...known))), h("span.lo", {}, num(Math.min(...known)))),
    h("div.facts", {}, fact("max", num(st.max)), fact("mean", num(st.mean)), fact("zeros", `${num(100 * st.zeros)} %`), st.bad ? fact("nan or inf", `${whole(st.bad)} of ${whole(st.size)}`) : "", st.update != null && fact("update / weight", num(st.update))),
    bars.length ? h("div.hist", { role: "img", "aria-label": "Elements by their power of ten, from 1e-8 to 1e3" },
      s("svg", { viewBox: `0 0 ${bars.length * 10} 26`, preserveAspectRatio: "none" }, bars.map((c, i) => s("rect", { x: i * 10 + 1, width: 8, y: 26 - (c / most) * 25, height: (c / most) * 25 + (c ? 1 : 0) }))),
      h("span.lo", {}, "1e-8"), h("span.hi", {}, "1e3")) : "");
}
function gradRows(n, row) {
  row("summed", n.passes > 1 ? `.grad is the sum of ${n.passes} backward passes` : "");
  row("last", { fresh: "a pass added to .grad", used: "a step used .grad", cleared: ".grad was cleared" }[n.grad_state], [n.stepped_line && `step line ${n.stepped_line}`, n.cleared_line && `cleared line ${n.cleared_line}`].filter(Boolean).map((t) => h("div", {}, t)));
  row("steps", n.ran_of > 1 ? `in ${whole(n.ran)} of ${whole(n.ran_of)}${n.in_newest === false ? ", not in the newest" : ""}` : "");
  row("shapes", (n.shapes || []).length > 1 ? n.shapes.map((t) => `[${t.join(", ")}]`).join(" ") : "");
  row("breaks", n.breaks && `a sound gradient became ${n.breaks} here`);
  row("error", n.failed && "the error that ended the cell came from here");
}

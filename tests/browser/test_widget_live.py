"""The widget in a real JupyterLab and Notebook 7, while cells run and afterwards."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.browser

LOAD = "import time\nimport torch\n%load_ext leafmagic"

TRAINING = """%%autograd
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
x = torch.randn(64, 8)
target = torch.randn(64, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(STEPS):
    out = net(x)
    loss = (out - target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    time.sleep(0.1)
"""

GROWING = """%%autograd
w = torch.ones(3, requires_grad=True)
a = w * 2
time.sleep(1.5)
b = a + 1
time.sleep(1.5)
c = b.sum()
time.sleep(0.5)
"""

WARNED = """%%autograd
w = torch.ones(3, requires_grad=True)
for step in range(7):
    h = w * 2
    loss = h.sum()
    loss.backward()
    h.grad
"""

BIG = """
from leafmagic.render.live import LiveDisplay

class Source:
    revision = 0
    def document(self):
        leaf = dict(kind="tensor", state="leaf", shape=[3], dtype="float32", is_leaf=True, requires_grad=True)
        nodes = [dict(leaf, id="w", name="w")]
        nodes += [dict(id=f"n{i}", kind="op", state="op", name="MulBackward0", line=2) for i in range(10_000)]
        edges = [dict(source=f"n{i}", target=f"n{i - 1}" if i else "w", kind="next", output_nr=0, carried=False) for i in range(10_000)]
        return dict(nodes=nodes, edges=edges, findings=[], cell=dict(label="Cell In[1]", source=""),
                    status=dict(running=False, steps=0, duration_s=1.0, overhead_s=0.0, error="", notes=[], cut=False))

LiveDisplay(Source()).close()
"""


def training(steps: int) -> str:
    return TRAINING.replace("STEPS", str(steps))


def box(widget: Any, name: str) -> Any:
    return widget.locator(".lm-node").filter(has=widget.page.get_by_text(name, exact=True))


def selected(widget: Any) -> str:
    return str(widget.locator(".lm-sel .lm-label").text_content())


def camera(widget: Any) -> str:
    return str(widget.locator(".lm-svg > g").get_attribute("transform"))


def settled(lab: Any) -> None:
    """Wait until the camera stands still."""
    lab.page.wait_for_timeout(350)


def test_the_graph_is_there_while_the_cell_is_busy(lab: Any) -> None:
    page = lab.open_notebook([LOAD, training(30)])
    lab.run_all()
    widget = lab.widget()
    widget.locator(".lm-node").first.wait_for()
    assert lab.is_busy()
    widget.get_by_text("running").wait_for()
    for name in ("net.0.weight", "x", "out", "loss"):
        box(widget, name).wait_for()
    widget.locator(".lm-status").filter(has_text=re.compile(r"running · 1\d steps")).wait_for()
    assert lab.is_busy()
    assert widget.locator(".lm-grad").count() >= 4
    lab.wait_idle()
    widget.locator(".lm-status").filter(has_text="done · 30 steps").wait_for()
    assert "leafmagic" in widget.locator(".lm-foot").text_content()
    assert page.locator(".lm-twin").count() == 1
    assert not page.locator(".lm-twin").is_visible()
    assert lab.errors == []


FLASHING = """%%autograd
w = torch.ones(3, requires_grad=True)
loss = (w * 2).sum()
time.sleep(1.5)
loss.backward()
time.sleep(2)
"""

WATCH_FLASHES = """() => {
  window.flashes = [];
  const look = () => {
    const box = document.querySelector(".lm-flash .lm-box");
    if (box) {
      const pixel = document.createElement("canvas").getContext("2d");
      pixel.fillStyle = getComputedStyle(box).fill;
      pixel.fillRect(0, 0, 1, 1);
      window.flashes.push([...pixel.getImageData(0, 0, 1, 1).data].slice(0, 3));
    }
    requestAnimationFrame(look);
  };
  look();
}"""


def test_a_leaf_that_gets_its_gradient_flashes_amber_once(lab: Any) -> None:
    page = lab.open_notebook([LOAD, FLASHING])
    page.evaluate(WATCH_FLASHES)
    lab.run_all()
    lab.widget().locator(".lm-flash").first.wait_for()
    lab.wait_idle()
    red, green, blue = page.evaluate("() => window.flashes[0]")
    assert red > 200
    assert 140 < green < 245  # neither red nor white
    assert blue < green
    assert lab.widget().locator(".lm-flash").count() == 0


def test_what_the_reader_did_stays_while_it_grows(lab: Any) -> None:
    lab.open_notebook([LOAD, GROWING])
    lab.run_all()
    widget = lab.widget()
    box(widget, "a").click()
    widget.get_by_role("button", name="Zoom in").click()
    widget.locator("input").fill("w")
    settled(lab)
    before = box(widget, "a").bounding_box()
    box(widget, "b").wait_for()
    assert lab.is_busy()
    after = box(widget, "a").bounding_box()
    assert abs(before["x"] - after["x"]) < 2
    assert abs(before["y"] - after["y"]) < 2
    assert selected(widget) == "a"
    assert widget.locator("input").input_value() == "w"
    lab.wait_idle()
    box(widget, "c").wait_for()
    assert selected(widget) == "a"


def test_a_slow_click_is_not_lost_between_two_updates(lab: Any) -> None:
    page = lab.open_notebook([LOAD, training(40)])
    lab.run_all()
    widget = lab.widget()
    widget.locator(".lm-status").filter(has_text="steps").wait_for()
    for name in ("Details", "Tensors"):
        widget.get_by_role("tab", name=name).hover()
        page.mouse.down()
        page.wait_for_timeout(350)
        page.mouse.up()
        assert widget.get_by_role("tab", name=name).get_attribute("aria-selected") == "true"
    row = widget.locator(".lm-table tbody tr").filter(has_text="net.0.bias").locator("button")
    row.hover()
    page.mouse.down()
    page.wait_for_timeout(350)
    page.mouse.up()
    assert selected(widget) == "net.0.bias"
    assert lab.is_busy()


def test_an_untouched_view_shows_the_whole(lab: Any) -> None:
    lab.open_notebook([LOAD, GROWING])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    settled(lab)
    stage = widget.locator(".lm-stage").bounding_box()
    for name in "wabc":
        inside = box(widget, name).bounding_box()
        assert stage["x"] <= inside["x"]
        assert stage["y"] <= inside["y"]
        assert inside["x"] + inside["width"] <= stage["x"] + stage["width"]
        assert inside["y"] + inside["height"] <= stage["y"] + stage["height"]


TALL = "%%autograd\nv0 = torch.ones(3, requires_grad=True)\n"
TALL += "\n".join(f"v{step} = v{step - 1} * 2" for step in range(1, 25))


def test_a_tall_graph_starts_readable_at_its_result(lab: Any) -> None:
    lab.open_notebook([LOAD, TALL])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    box(widget, "v24").wait_for()
    settled(lab)
    assert float(re.findall(r"scale\((.+)\)", camera(widget))[0]) >= 0.75
    stage, result = widget.locator(".lm-stage").bounding_box(), box(widget, "v24").bounding_box()
    assert stage["y"] < result["y"]
    assert result["y"] + result["height"] < stage["y"] + stage["height"]


def test_warnings_are_shown_counted_and_linked(lab: Any) -> None:
    page = lab.open_notebook([LOAD, WARNED])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    warning = widget.locator(".lm-warn").first
    warning.wait_for()
    assert "h.grad" in warning.text_content()
    assert warning.locator(".lm-count").text_content() == "× 7"
    assert warning.locator(".lm-code u").text_content()
    assert widget.locator(".lm-mark").count() >= 1
    warning.locator(".lm-goto").click()
    assert selected(widget) == "h"
    added = warning.locator("ins").first.inner_text()
    assert "retain_grad" in added
    warning.get_by_role("button", name="Copy").click()
    warning.get_by_text("copied").wait_for()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied.split() == added.split()[1:]


def test_the_keyboard_reaches_everything_and_nothing_leaks(lab: Any) -> None:
    page = lab.open_notebook([LOAD, training(3)])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    cells = "() => jupyterapp.shell.currentWidget.content.widgets.length"
    count = page.evaluate(cells)
    active = "() => document.activeElement.className"

    box(widget, "loss").click()
    assert selected(widget) == "loss"
    page.keyboard.press("ArrowUp")
    assert selected(widget) != "loss"
    page.keyboard.press("ArrowDown")
    assert selected(widget) == "loss"
    page.keyboard.press("Enter")
    assert "lm-panel" in page.evaluate(active)
    assert widget.locator(".lm-panel").get_by_text("(out - target).pow(2).mean()").is_visible()
    page.keyboard.press("Escape")
    assert widget.locator(".lm-sel").count() == 0
    assert "lm-stage" in page.evaluate(active)

    page.keyboard.press("f")
    settled(lab)
    before = camera(widget)
    page.keyboard.press("+")
    assert camera(widget) != before
    page.keyboard.press("f")
    settled(lab)
    assert camera(widget) == before

    for key in ("a", "b", "d", "d", "x", "m", "y", "Shift+Enter"):  # JupyterLab's own
        page.keyboard.press(key)
    page.keyboard.press("/")
    page.keyboard.type("bdd net")
    assert widget.locator("input").input_value() == "bdd net"
    widget.locator("input").fill("net.")
    first = None
    for _ in range(2):
        page.keyboard.press("Enter")
        assert selected(widget).startswith("net.")
        assert selected(widget) != first
        first = selected(widget)
    assert widget.locator(".lm-hit").count() == 4
    assert page.evaluate(cells) == count
    types = "() => jupyterapp.shell.currentWidget.content.widgets.map(w => w.model.type)"
    assert set(page.evaluate(types)) == {"code"}

    page.keyboard.press("Control+s")  # that one is left to JupyterLab
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")

    seen = set()
    page.keyboard.press("Escape")
    widget.locator("input").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate(
                "() => document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"
            )
        )
        if not page.evaluate("() => !!document.activeElement.closest('section.lm')"):
            break
    joined = " | ".join(str(s) for s in seen)
    for word in ("names", "ops", "Zoom in", "Fit", "Autograd graph", "all marks"):
        assert word in joined


def test_details_levels_and_the_list_of_tensors(lab: Any) -> None:
    lab.open_notebook([LOAD, training(3)])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    widget.get_by_role("tab", name="Tensors").click()
    rows = widget.locator(".lm-table tbody tr")
    assert rows.count() >= 7
    widget.locator("[data-sort=grad]").click()
    assert rows.first.locator(".lm-gpill").count() == 1
    rows.filter(has_text="net.0.bias").click()
    assert selected(widget) == "net.0.bias"
    box(widget, "net.0.bias").hover()
    widget.locator(".lm-tip-box").get_by_text("norm").wait_for()
    box(widget, "net.0.bias").click()
    details = widget.locator(".lm-panel")
    assert "requires_grad ✓" in details.text_content()
    widget.locator("[data-level=ops]").click()
    box(widget, "Addmm").first.wait_for()
    assert selected(widget) == "net.0.bias"
    widget.get_by_role("button", name="all marks").click()
    assert widget.get_by_text("never gets a gradient").is_visible()


REBOUND = """
%%autograd
a = torch.ones(1, requires_grad=True)
b = torch.ones(1, requires_grad=True)
a = b + 1
a.backward()
"""


def test_a_rebound_name_tells_its_story(lab: Any) -> None:
    lab.open_notebook(["%load_ext leafmagic\nimport torch", REBOUND.strip()])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    box(widget, "a").last.click()
    details = widget.locator(".lm-panel")
    assert "from line 2 dead name" in details.text_content()
    assert "from line 4 non-leaf (this)" in details.text_content()
    details.get_by_role("button", name="dead name").click()
    assert "from line 2 dead name (this)" in details.text_content()


def test_the_wheel_is_the_pages_until_the_graph_is_meant(lab: Any) -> None:
    page = lab.open_notebook([LOAD, training(3)])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    settled(lab)
    before = camera(widget)
    area = widget.locator(".lm-stage").bounding_box()
    page.mouse.move(area["x"] + 20, area["y"] + 150)
    page.mouse.wheel(0, -50)
    settled(lab)
    assert camera(widget) == before
    widget.locator(".lm-stage").click(position={"x": 15, "y": 150})
    page.mouse.wheel(0, -50)
    settled(lab)
    assert camera(widget) != before


@pytest.mark.parametrize("name", ["JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_dark_themes_are_dark_and_legible(lab: Any, name: str) -> None:
    page = lab.open_notebook([LOAD, WARNED])
    lab.run_all()
    lab.wait_idle()
    try:
        lab.theme(name)
        ratios = page.evaluate(CONTRAST)
    finally:
        lab.theme("JupyterLab Light")
    assert ratios["background"] < 0.05, "the background is dark"
    for part, ratio in ratios["text"].items():
        assert ratio >= 4.5, part


CONTRAST = """() => {
  const rgb = (c) => { const x = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    x.fillStyle = c; x.fillRect(0, 0, 1, 1); return [...x.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const lum = (c) => { const [r, g, b] = rgb(c).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const root = document.querySelector('section.lm'), css = (el) => getComputedStyle(el);
  const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const text = {};
  for (const part of ['.lm-label', '.lm-sub', '.lm-tag']) {
    const el = root.querySelector(part);
    text[part] = ratio(css(el).fill, part === '.lm-tag' ? css(root).backgroundColor : css(el.parentNode.querySelector('.lm-box')).fill);
  }
  for (const part of ['.lm-status', '.lm-foot', '.lm-msg', '.lm-cell'])
    text[part] = ratio(css(root.querySelector(part)).color, css(root).backgroundColor);
  return { background: lum(css(root).backgroundColor), text };
}"""


def test_a_notebook_opened_without_its_kernel_shows_the_twin(lab: Any) -> None:
    page = lab.open_notebook([LOAD, WARNED])
    lab.run_all()
    lab.wait_idle()
    name = page.evaluate("() => jupyterapp.shell.currentWidget.context.path")
    lab.save()
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
    page = lab.reopen(name)
    picture = page.locator(".lm-twin img")
    picture.wait_for()
    assert picture.evaluate("img => img.naturalWidth") > 100
    assert not page.get_by_text("model not found").is_visible()
    outputs = lab.server.read(name)["cells"][1]["outputs"]
    shown = [out["data"] for out in outputs if "text/html" in out.get("data", {})]
    assert len(shown) == 1
    assert "h.grad" in "".join(shown[0]["text/plain"])


def test_a_cell_without_a_graph_says_so(lab: Any) -> None:
    lab.open_notebook([LOAD, "%%autograd\ntime.sleep(1)\nn = 1"])
    lab.run_all()
    lab.widget().get_by_text("waiting for the first tensor").wait_for()
    lab.wait_idle()
    lab.widget().get_by_text("No autograd graph: nothing in this cell requires grad").wait_for()


def test_ten_thousand_nodes_are_drawn_on_a_canvas(lab: Any) -> None:
    page = lab.open_notebook([BIG])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    widget.locator("[data-level=ops]").click()
    widget.locator("canvas.lm-canvas").wait_for()
    assert widget.locator(".lm-node").count() == 0
    widget.locator(".lm-stage").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    assert "MulBackward0" in widget.locator(".lm-panel").text_content()
    worst = page.evaluate(PAN)
    assert worst < 200, f"a step of panning took {worst:.0f} ms"


PAN = """async () => {
  const stage = document.querySelector('.lm-stage'), at = stage.getBoundingClientRect();
  const send = (type, x) => stage.dispatchEvent(new PointerEvent(type,
    { bubbles: true, clientX: at.x + x, clientY: at.y + 100, pointerId: 1, buttons: 1, isPrimary: true }));
  stage.setPointerCapture = () => {};
  send('pointerdown', 100);
  const times = [];
  for (let i = 1; i <= 20; i++) {
    const begin = performance.now();
    send('pointermove', 100 + 5 * i);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - begin);
  }
  send('pointerup', 200);
  return times.sort((a, b) => a - b)[18];
}"""


def test_it_is_live_in_notebook_7_too(lab: Any) -> None:
    lab.open_notebook7([LOAD, training(30)])
    lab.run_first_cell()
    lab.page.locator(".jp-InputPrompt").filter(has_text="[1]").wait_for()
    lab.page.keyboard.press("Shift+Enter")  # the next cell, now selected
    widget = lab.widget()
    widget.locator(".lm-node").first.wait_for()
    widget.locator(".lm-st-running").wait_for()
    widget.locator(".lm-status").filter(has_text="done · 30 steps").wait_for()
    assert not lab.page.locator(".lm-twin").is_visible()

"""A training loop in a real JupyterLab: what changes while it runs, and its lists."""

from __future__ import annotations

import re
from typing import Any

import pytest

pytestmark = pytest.mark.browser

LOAD = "import time\nimport torch\nfrom torch import nn\n%load_ext leafmagic"

TRAINING = """%%autograd
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
net[0].bias.requires_grad_(False)
spare = nn.Linear(2, 2)
x, target = torch.randn(64, 8), torch.randn(64, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for epoch in range(2):
    for step in range(STEPS):
        opt.zero_grad()
        out = net(x)
        loss = (out - target).pow(2).mean()
        loss.backward()
        opt.step()
        time.sleep(0.05)
"""

TWO_LOSSES = """%%autograd
a = nn.Linear(4, 4)
b = nn.Linear(4, 4)
x = torch.randn(8, 4)
for step in range(6):
    left = a(x).pow(2).mean()
    left.backward()
    right = b(x).pow(2).mean()
    right.backward()
"""

BORN = """%%autograd
w = torch.zeros(3, requires_grad=True)
for step in range(3):
    root = w.sqrt()
    loss = (root * 0).sum()
    loss.backward()
    w.grad = None
"""


def training(steps: int) -> str:
    return TRAINING.replace("STEPS", str(steps))


def box(widget: Any, name: str) -> Any:
    return widget.locator(".lm-node").filter(has=widget.page.get_by_text(name, exact=True))


def step_of(widget: Any) -> int:
    said = widget.locator(".lm-steps b").text_content()
    return int(re.sub(r"\D", "", said))


def place(widget: Any, name: str) -> Any:
    return box(widget, name).get_attribute("transform")


def head_of(widget: Any) -> float:
    """Return how far below the widget's upper edge the graph begins."""
    return float(widget.locator(".lm-body").bounding_box()["y"] - widget.bounding_box()["y"])


def ran(lab: Any, *cells: str, **viewport: int) -> Any:
    lab.open_notebook([LOAD, *cells], **viewport)
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    widget.locator(".lm-status").filter(has_text="done").wait_for()
    return widget


SEEN = """() => {
  const box = [...document.querySelectorAll('.lm-node')]
    .find((g) => g.querySelector('.lm-label').textContent === 'net.0.weight');
  return [box.querySelector('.lm-sub').textContent, box.querySelector('.lm-spark')?.getAttribute('d'),
    document.querySelector('.lm-loss').getAttribute('d'), document.querySelector('.lm-last').textContent,
    document.querySelector('.lm-steps b').textContent];
}"""


def test_values_change_in_place_while_the_cell_is_busy(lab: Any) -> None:
    lab.open_notebook([LOAD, training(100)])
    lab.run_all()
    widget = lab.widget()
    widget.locator(".lm-steps").filter(has_text=re.compile(r"step ([2-9]|\d\d)")).wait_for()
    weight = box(widget, "net.0.weight")
    weight.locator(".lm-heat").wait_for()
    weight.locator(".lm-spark").wait_for(state="attached")
    first, at, below = step_of(widget), place(widget, "net.0.weight"), head_of(widget)
    element = weight.element_handle()
    seen = lab.page.evaluate(SEEN)
    # Not every pass is measured, so the numbers of a box need not change with each step.
    lab.page.wait_for_function(
        f"old => {{ const now = ({SEEN})(); return now.every((v, i) => v && v !== old[i]); }}",
        arg=seen,
    )
    assert lab.is_busy()
    assert step_of(widget) > first
    assert "grad" in weight.locator(".lm-sub").text_content()
    assert place(widget, "net.0.weight") == at
    assert element.evaluate("el => el.isConnected"), "the box was not drawn anew"
    bars = widget.get_by_role("progressbar")
    assert [bars.nth(i).get_attribute("aria-valuemax") for i in range(2)] == ["2", "100"]
    lab.wait_idle()
    widget.locator(".lm-steps").filter(has_text="step 200").wait_for()
    assert place(widget, "net.0.weight") == at
    assert head_of(widget) == below, "nothing jumps when the loops have ended"
    assert lab.errors == []


def test_a_curve_reads_its_values(lab: Any) -> None:
    widget = ran(lab, training(10))
    last = widget.locator(".lm-last").text_content()
    area = widget.locator(".lm-plot").bounding_box()
    lab.page.mouse.move(area["x"] + 2, area["y"] + 10)
    widget.locator(".lm-last").get_by_text("step 1 ", exact=False).wait_for()
    assert widget.locator(".lm-last").text_content() != last
    lab.page.mouse.move(area["x"] + 2, area["y"] + 300)
    assert widget.locator(".lm-last").text_content() == last


def names(widget: Any) -> list[str]:
    return [
        row.get_attribute("data-name") for row in widget.locator(".lm-ptable [data-name]").all()
    ]


def test_the_table_of_parameters_sorts_and_searches(lab: Any) -> None:
    widget = ran(lab, training(10))
    widget.get_by_role("tab", name="Parameters").click()
    at_first = names(widget)
    assert at_first[:4] == ["net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"]
    assert sorted(at_first[4:]) == ["spare.bias", "spare.weight"]
    states = {
        row.get_attribute("data-name"): row.locator(".lm-pstate").text_content()
        for row in widget.locator(".lm-ptable [data-name]").all()
    }
    assert states["net.0.weight"] == "trained"
    assert states["net.0.bias"] == "frozen"
    assert states["spare.bias"] == "never reached"
    head = widget.locator("[data-psort='grad norm']")
    head.click()
    assert set(names(widget)[:3]) == {"net.0.weight", "net.2.weight", "net.2.bias"}
    heads = widget.locator(".lm-ptable th[aria-sort]")
    assert heads.nth(2).get_attribute("aria-sort") == "descending"
    head.focus()
    lab.page.keyboard.press("Enter")
    assert heads.nth(2).get_attribute("aria-sort") == "ascending"
    assert set(names(widget)[:3]) == {"net.0.bias", "spare.weight", "spare.bias"}
    lab.page.keyboard.press("Enter")
    assert heads.nth(2).get_attribute("aria-sort") == "none"
    assert names(widget) == at_first
    widget.locator(".lm-pfind").fill("never")
    assert sorted(names(widget)) == ["spare.bias", "spare.weight"]
    widget.locator(".lm-pfind").fill("net.2")
    assert names(widget) == ["net.2.weight", "net.2.bias"]
    widget.locator(".lm-ptable [data-name='net.2.bias']").click()
    assert widget.locator(".lm-sel .lm-label").text_content() == "net.2.bias"


MANY = """%%autograd
blocks = nn.ModuleList(nn.Linear(2, 2) for _ in range(600))
x = torch.ones(1, 2)
for step in range(2):
    h = x
    for block in blocks[:20]:
        h = block(h)
    h.sum().backward()
"""

SCROLL = """async () => {
  const panel = document.querySelector('.lm-panel'), times = [];
  for (let i = 0; i < 20; i++) {
    const begin = performance.now();
    panel.scrollTop += 200;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - begin);
  }
  return times.sort((a, b) => a - b)[18];
}"""


def test_a_thousand_parameters_stay_smooth(lab: Any) -> None:
    widget = ran(lab, MANY)
    widget.get_by_role("tab", name="Parameters").click()
    widget.get_by_text("1,200 parameters", exact=False).wait_for()
    assert len(names(widget)) == 200
    widget.get_by_text("and 1,000 more: filter to narrow the list").wait_for()
    assert lab.page.evaluate(SCROLL) < 200
    widget.locator(".lm-pfind").fill("blocks.599.")
    assert names(widget) == ["blocks.599.weight", "blocks.599.bias"]


def test_each_backward_pass_has_its_own_view(lab: Any) -> None:
    widget = ran(lab, TWO_LOSSES)
    roots = widget.locator("[data-pick]")
    assert roots.all_text_contents() == ["all", "left line 7", "right line 9"]
    assert widget.locator(".lm-curve").count() == 2
    roots.nth(2).click()
    assert roots.nth(2).get_attribute("aria-pressed") == "true"
    assert widget.locator(".lm-curve").count() == 1
    assert widget.locator(".lm-curve strong").text_content() == "right"
    for name, out in (("a.weight", True), ("b.weight", False), ("left", True), ("right", False)):
        assert ("lm-out" in box(widget, name).get_attribute("class")) == out, name
    roots.nth(0).click()
    assert widget.locator(".lm-out").count() == 0


def test_gradients_are_switched_off_and_on(lab: Any) -> None:
    widget = ran(lab, training(4))
    assert widget.locator(".lm-heat").count() >= 4
    scale = widget.locator(".lm-scale")
    assert re.search(r"gradient norm1e-?\d+1e-?\d+", scale.text_content())
    switch = widget.get_by_role("button", name="gradients")
    assert switch.get_attribute("aria-pressed") == "true"
    switch.click()
    assert switch.get_attribute("aria-pressed") == "false"
    assert widget.locator(".lm-heat").count() == 0
    assert scale.count() == 0
    switch.click()
    assert widget.locator(".lm-heat").count() >= 4


def test_the_details_tell_what_was_measured(lab: Any) -> None:
    widget = ran(lab, training(10))
    box(widget, "net.2.weight").click()
    told = widget.locator(".lm-panel").text_content()
    for words in ("gradient norm", "max", "mean", "zeros", "update / weight", "step line 14"):
        assert words in told
    assert widget.locator(".lm-gblock .lm-spark path").get_attribute("d")


def test_where_nan_is_born_is_marked(lab: Any) -> None:
    widget = ran(lab, BORN)
    flags = widget.locator(".lm-flag")
    flags.filter(has_text="nan born here").wait_for()
    assert "nan" in widget.locator(".lm-scale, .lm-flag").all_text_contents().__str__()


@pytest.mark.parametrize("name", ["JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_the_strip_and_the_table_are_legible_in_the_dark(lab: Any, name: str) -> None:
    widget = ran(lab, training(4))
    widget.get_by_role("tab", name="Parameters").click()
    try:
        lab.theme(name)
        ratios = lab.page.evaluate(CONTRAST)
    finally:
        lab.theme("JupyterLab Light")
    for part, ratio in ratios.items():
        assert ratio >= 4.5, part


CONTRAST = """() => {
  const rgb = (c) => { const x = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    x.fillStyle = c; x.fillRect(0, 0, 1, 1); return [...x.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const lum = (c) => { const [r, g, b] = rgb(c).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ratio = (a, b) => { const [x, y] = [lum(a), lum(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const css = (part) => getComputedStyle(document.querySelector(part));
  const out = {};
  for (const part of ['.lm-steps b', '.lm-steps span', '.lm-ctop i', '.lm-last', '.lm-plot .lm-hi'])
    out[part] = ratio(css(part).color, css('section.lm').backgroundColor);
  for (const part of ['.lm-ptop', '.lm-ptable .lm-norm', '.lm-ptable .lm-group th', '.lm-pstate'])
    out[part] = ratio(css(part).color, css('.lm-side').backgroundColor);
  return out;
}"""


def test_the_whole_is_kept_where_there_is_no_kernel(lab: Any) -> None:
    widget = ran(lab, training(5))
    page = lab.page
    name = page.evaluate("() => jupyterapp.shell.currentWidget.context.path")
    assert widget.locator(".lm-train").is_visible()
    lab.save()
    page.wait_for_function("() => !jupyterapp.shell.currentWidget.context.model.dirty")
    page = lab.reopen(name)
    twin = page.locator(".lm-twin")
    twin.get_by_text("step 10", exact=False).wait_for()
    assert twin.locator("img").evaluate("img => img.naturalWidth") > 100


FAILING = """%%autograd
w = torch.ones(3, requires_grad=True)
for step in range(4):
    h = w.exp()
    if step == 2:
        h.add_(1)
    loss = h.sum()
    loss.backward()
"""


def test_what_was_seen_stays_when_a_step_fails(lab: Any) -> None:
    lab.open_notebook([LOAD, FAILING])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    widget.locator(".lm-st-stopped").wait_for()
    assert step_of(widget) == 2
    assert widget.locator(".lm-loss").get_attribute("d")
    widget.locator(".lm-alarm").filter(has_text="error").wait_for()

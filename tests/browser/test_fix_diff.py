"""The fix of a warning as a small diff, with a button that copies it: in a real page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

CELL = """%%autograd --into t
import torch
w = torch.ones(2, requires_grad=True)
h = w * 2
h.sum().backward()
x = torch.arange(6., requires_grad=True).reshape(3, 2)
x.sum().backward()
(h.grad, x.grad)"""


def colour(locator: Any) -> tuple[int, ...]:
    shown = locator.evaluate("e => getComputedStyle(e).backgroundColor")
    return tuple(int(float(part)) for part in re.findall(r"[\d.]+", shown))[:3]


def test_the_widget_shows_it_and_copies_it_by_the_keyboard(lab: Any) -> None:
    page = lab.open_notebook(["%load_ext leafmagic", CELL])
    lab.run_all()
    lab.wait_idle()
    widget = lab.widget()
    widget.get_by_role("tab", name="Warnings").click()
    retained, hidden = widget.locator(".lm-warn").all()
    assert retained.locator("ins").all_inner_texts()[0].split() == ["+", "h.retain_grad()"]
    assert retained.locator("del").count() == 0
    told = retained.locator(".lm-diff").inner_text().split()
    assert told == ["4", "h", "=", "w", "*", "2", "+", "h.retain_grad()"]
    assert (
        hidden.locator("del")
        .inner_text()
        .endswith("x = torch.arange(6., requires_grad=True).reshape(3, 2)")
    )
    assert "requires_grad=True" in hidden.locator("del mark").inner_text()
    # Not by colour alone.
    assert [e.inner_text() for e in hidden.locator(".lm-sign").all()] == ["-", "+"]
    style = "e => [getComputedStyle(e).textDecorationLine, getComputedStyle(e).fontWeight]"
    assert hidden.locator("ins mark").evaluate(style) == ["underline", "700"]
    button = hidden.get_by_role("button", name="Copy the fix")
    hidden.locator(".lm-goto").focus()
    page.keyboard.press("Tab")
    assert button.evaluate("e => e === document.activeElement")
    page.keyboard.press("Enter")
    button.get_by_text("copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "x = torch.arange(6.).reshape(3, 2).requires_grad_()"


@pytest.mark.parametrize("theme", ["JupyterLab Dark", "JupyterLab Dark High Contrast"])
def test_it_follows_the_theme(lab: Any, theme: str) -> None:
    page = lab.open_notebook(["%load_ext leafmagic", CELL])
    lab.run_all()
    lab.wait_idle()
    lab.theme(theme)
    widget = lab.widget()
    widget.get_by_role("tab", name="Warnings").click()
    block = widget.locator(".lm-diff").first
    block.scroll_into_view_if_needed()
    assert max(colour(block)) < 100
    ink = block.locator("code").first.evaluate("e => getComputedStyle(e).color")
    assert min(int(part) for part in re.findall(r"\d+", ink)[:3]) > 180
    page.emulate_media(forced_colors="active")
    line = "e => getComputedStyle(e).textDecorationLine"
    assert block.locator("ins mark").evaluate(line) == "underline"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    import torch

    import leafmagic

    script = tmp_path / "cell.py"
    script.write_text(
        "w = torch.ones(2, requires_grad=True)\nh = w * 2\nh.sum().backward()\nh.grad"
    )
    with leafmagic.trace() as trace:
        exec(compile(script.read_text(), str(script), "exec"), {"torch": torch})
    trace.save(tmp_path / "t.html")
    return tmp_path / "t.html"


@pytest.mark.parametrize("scripts", [True, False])
def test_the_saved_page_works_without_a_kernel(saved: Path, chromium: Any, scripts: bool) -> None:
    context = chromium.new_context(java_script_enabled=scripts)
    page = context.new_page()
    page.goto(saved.as_uri())
    assert "h.retain_grad()" in page.locator("ins").inner_text()
    buttons = page.locator("button.copy:visible")
    assert buttons.count() == int(scripts)
    if scripts:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.locator("button.copy", has_text="copied").wait_for()
    context.close()

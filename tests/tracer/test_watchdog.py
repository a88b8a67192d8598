"""Graphs that grow from step to step are told while the cell runs, once, with the line."""

from __future__ import annotations

from typing import Any

import pytest
from tracing_kit import Ran, check_well, run_traced

LOOK = (
    "    seen.append([(f.code, f.line, f.variable, f.count) for f in leafmagic.last().findings])\n"
)
HEAD = "import leafmagic\nseen = []\nw = torch.full((3, 3), 0.5, requires_grad=True)\n"


def watched(before: str, body: str, steps: int = 8, **options: Any) -> Ran:
    """Run a loop that looks at the findings at the end of each step."""
    ran = run_traced(HEAD + before + f"for step in range({steps}):\n" + body + LOOK, **options)
    check_well(ran)
    return ran


GROWING = {
    "a state is carried": (
        "LM532",
        "h",
        "h = torch.zeros(3)\n",
        "    h = torch.tanh(w @ h + 1)\n"
        "    h.sum().backward(retain_graph=True)\n"
        "    w.grad = None\n",
    ),
    "a state of an object": (
        "LM532",
        "self.h",
        "class Net(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.cell = torch.nn.RNNCell(3, 3)\n"
        "        self.h = torch.zeros(1, 3)\n"
        "    def forward(self, x):\n"
        "        self.h = self.cell(x, self.h)\n"
        "        return self.h\n"
        "net = Net()\n",
        "    net(torch.ones(1, 3)).sum().backward(retain_graph=True)\n",
    ),
    "losses are summed": (
        "LM601",
        "total",
        "total = 0\n",
        "    loss = (w * w).sum()\n    loss.backward()\n    w.grad = None\n    total += loss\n",
    ),
    "before backward, and scaled": (
        "LM601",
        "total",
        "total = torch.zeros(())\n",
        "    loss = (w * w).sum()\n"
        "    total = total + loss * 0.5\n"
        "    loss.backward()\n"
        "    w.grad = None\n",
    ),
    "losses are collected": (
        "LM602",
        "losses",
        "losses = []\n",
        "    loss = w.exp().sum()\n"
        "    loss.backward()\n"
        "    w.grad = None\n"
        "    losses.append(loss)\n",
    ),
    "outputs are collected in a dict": (
        "LM602",
        "outs",
        "outs = {}\n",
        "    out = w.exp()\n    out.sum().backward()\n    w.grad = None\n    outs[step] = out\n",
    ),
}


@pytest.mark.parametrize("grads", ["off", "auto"])
@pytest.mark.parametrize("name", GROWING)
def test_growth_is_told_at_the_third_step_that_shows_it(name: str, grads: str) -> None:
    code, variable, before, body = GROWING[name]
    ran = watched(before, body, grads=grads)
    seen = ran.ns["seen"]
    text = (HEAD + before + "for step in range(8):\n" + body).split("\n")
    # The first step shows nothing: there is no earlier one.
    assert seen[0] == seen[1] == []
    (told,) = seen[3]
    assert (told[0], told[2], told[3]) == (code, variable, 1)
    assert variable in text[told[1] - 1]
    # It is not told again, neither in later steps nor at the end.
    assert all(step == [told] for step in seen[3:])
    end = [(f.code, f.line, f.variable, f.count) for f in ran.trace.findings if f.code == code]
    assert end == [told]
    assert [f.severity for f in ran.trace.findings if f.code == code] == ["warning"]


def test_of_a_second_loop_it_is_told_in_time_too() -> None:
    ran = watched(
        "for step in range(1000):\n    (w * w).sum().backward()\n    w.grad = None\nkept = []\n",
        "    loss = w.exp().sum()\n    loss.backward()\n    w.grad = None\n    kept.append(loss)\n",
    )
    assert [len(step) for step in ran.ns["seen"]] == [0, 0, 0, 1, 1, 1, 1, 1]


QUIET = {
    "truncated, every step": (
        "h = torch.zeros(3)\n",
        "    h = torch.tanh(w @ h.detach() + 1)\n    h.sum().backward()\n    w.grad = None\n",
    ),
    "truncated, now and then": (
        "h = torch.zeros(3)\n",
        "    h = torch.tanh(w @ h + 1)\n"
        "    h.sum().backward(retain_graph=True)\n"
        "    w.grad = None\n"
        "    if step % 10 == 9:\n"
        "        h = h.detach()\n",
    ),
    "one pass for a window": (
        "h, window = torch.zeros(3), 0\n",
        "    h = torch.tanh(w @ h + 1)\n"
        "    window = window + h.sum()\n"
        "    if step % 5 == 4:\n"
        "        window.backward()\n"
        "        w.grad, window, h = None, 0, h.detach()\n",
    ),
    "numbers are summed": (
        "total = 0\n",
        "    loss = (w * w).sum()\n"
        "    loss.backward()\n"
        "    w.grad = None\n"
        "    total += loss.item()\n",
    ),
    "detached losses are summed": (
        "total = torch.zeros(())\n",
        "    loss = (w * w).sum()\n"
        "    loss.backward()\n"
        "    w.grad = None\n"
        "    total += loss.detach()\n",
    ),
    "a replay buffer": (
        "buffer = []\n",
        "    out = w.exp()\n"
        "    buffer.append((out.detach(), step))\n"
        "    out.sum().backward()\n"
        "    w.grad = None\n",
    ),
    "a sum with a backward of its own, later": (
        "extra = 0\n",
        "    (w * w).sum().backward()\n"
        "    extra = extra + w.sin().sum()\n"
        "    if step % 10 == 9:\n"
        "        extra.backward()\n"
        "        extra = 0\n",
    ),
    "a list whose sum has one": (
        "parts = []\n",
        "    (w * w).sum().backward()\n"
        "    parts.append(w.sin().sum())\n"
        "    if step == 19:\n"
        "        torch.stack(parts).sum().backward()\n",
    ),
    "graphs that are kept for a later pass": (
        "total = 0\n",
        "    loss = (w * w).sum()\n"
        "    loss.backward(retain_graph=True)\n"
        "    total = total + loss\n"
        "    if step == 19:\n"
        "        total.backward()\n",
    ),
    "a list that is emptied": (
        "losses, mean = [], 0.0\n",
        "    loss = (w * w).sum()\n"
        "    loss.backward()\n"
        "    losses.append(loss)\n"
        "    if step % 10 == 9:\n"
        "        mean = sum(one.item() for one in losses) / 10\n"
        "        losses = []\n",
    ),
    "gradients are added up": (
        "",
        "    loss = (w * w).sum() / 4\n"
        "    loss.backward()\n"
        "    if step % 4 == 3:\n"
        "        with torch.no_grad():\n"
        "            w -= 0.1 * w.grad\n"
        "        w.grad = None\n",
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_what_does_not_grow_is_not_told(name: str) -> None:
    ran = watched(*QUIET[name], steps=20)
    growth = {"LM532", "LM601", "LM602"}
    told = {found for step in ran.ns["seen"] for found in step if found[0] in growth}
    assert not told
    assert not [f for f in ran.trace.findings if f.code in growth and f.severity != "info"]


def test_the_text_of_what_is_told_keeps_up() -> None:
    _, _, before, body = GROWING["losses are summed"]
    ran = watched(before, body, steps=50)
    (found,) = [f for f in ran.trace.findings if f.code == "LM601"]
    assert "50 iterations" in found.message

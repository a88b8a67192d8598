"""Leaves that a line hides: fixes that work; and leaves that only look as if nothing held them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from tracing_kit import run_traced

from leafmagic.findings.fixes import flagged

IMPORTS = {"__name__": "__main__", "torch": torch, "nn": nn}
READ = "x.sum().backward()\ng = x.grad"

# What makes x, and how it should read.
HIDDEN = {
    "parameter times": ("x = nn.Parameter(torch.ones(3)) * 0.5", "x = nn.Parameter(torch.ones(3) * 0.5)"),
    "view of a parameter": (
        "x = nn.Parameter(torch.ones(6)).view(2, 3)", "x = nn.Parameter(torch.ones(6).view(2, 3))"),
    "parameter of a sum": (
        "x = nn.Parameter(torch.ones(3) + 1, requires_grad=True) * 2",
        "x = nn.Parameter((torch.ones(3) + 1) * 2, requires_grad=True)"),
    "flag that is a variable": (
        "train = True\nx = torch.ones(6, requires_grad=train).view(2, 3)",
        "x = torch.ones(6).view(2, 3).requires_grad_(train)"),
    "flag among keywords": (
        "kw = dict(requires_grad=True)\nx = torch.ones(6, **kw).view(2, 3)",
        "x = torch.ones(6, **kw).view(2, 3).detach().requires_grad_()"),
    "flag that comes first": (
        "x = torch.ones(requires_grad=True, size=(3,)) * 2", "x = (torch.ones(size=(3,)) * 2).requires_grad_()"),
    "factory": (
        "def leaf(n):\n    return torch.ones(n, requires_grad=True)\nx = leaf(6).view(2, 3)",
        "x = leaf(6).view(2, 3).detach().requires_grad_()"),
    "factory that must be given the flag": (
        "def leaf(n, requires_grad):\n    return torch.ones(n, requires_grad=requires_grad)\nx = leaf(6, requires_grad=True).view(2, 3)",
        "x = leaf(6, requires_grad=True).view(2, 3).detach().requires_grad_()"),
    "setter with a keyword": (
        "x = torch.ones(6).requires_grad_(requires_grad=True).view(2, 3)",
        "x = torch.ones(6).view(2, 3).requires_grad_()"),
    "another leaf in the line": (
        "w = torch.ones(3, requires_grad=True)\nx = torch.ones(3, requires_grad=True) * w",
        "x = (torch.ones(3) * w).detach().requires_grad_()"),
    "two leaves in the line": (
        "x = torch.ones(3, requires_grad=True) + torch.ones(3).requires_grad_()",
        "x = (torch.ones(3) + torch.ones(3)).requires_grad_()"),
}  # fmt: skip


@pytest.mark.parametrize("case", HIDDEN)
def test_the_fix_makes_a_leaf(case: str) -> None:
    text, fix = HIDDEN[case]
    ran = run_traced(f"{text}\n{READ}", dict(IMPORTS))
    (finding,) = ran.trace.findings
    assert (finding.kind, finding.variable) == ("hidden_leaf", "x")
    assert finding.fix == fix
    assert "``" not in finding.message
    again = run_traced("\n".join([*text.split("\n")[:-1], finding.fix, READ]), dict(IMPORTS))
    assert again.trace.findings == ()
    assert again.ns["x"].is_leaf
    assert again.ns["g"] is not None
    assert torch.equal(again.ns["x"], ran.ns["x"])
    edited = run_traced(ran.trace.fixed_source(), dict(IMPORTS))
    assert edited.ns["g"] is not None


@pytest.mark.parametrize(
    "source",
    [
        "[torch.ones(n, requires_grad=True) for n in (1, 2)][0] * 2",
        "(lambda: torch.ones(2, requires_grad=True))() * 2",
        "torch.ones(2, requires_grad=True) if True else torch.ones(2)",
        "torch.ones(2, requires_grad=True) * len('requires_grad=True')",
        "(torch.ones(2) * 2).requires_grad_() * 3",
        "torch.ones(\n    2,\n    requires_grad=True,\n)\n.add(1)",
        "nn.Parameter(\n    torch.ones(2),\n).add(1)",
    ],
)
def test_in_doubt_the_value_is_detached(source: str) -> None:
    value = eval(f"({source})", dict(IMPORTS))
    new = eval(flagged(source), dict(IMPORTS))
    assert new.is_leaf
    assert new.requires_grad
    assert torch.equal(new, value)


HELD = {
    "far down a list": ("ws = [torch.ones(3, requires_grad=True) for _ in range(100)]\nx = ws[80].view(1, 3)", "ws[80]"),
    "in a dict of dicts": (
        "cfg = {'a': {'w': torch.ones(3, requires_grad=True)}}\nx = cfg['a']['w'].view(3, 1)", "cfg['a']['w']"),
    "in a set": ("held = {torch.ones(3, requires_grad=True)}\nx = next(iter(held)).view(3, 1)", ""),
    "one by one from a set": (
        "held = {torch.ones(3, requires_grad=True) for _ in range(2)}\nxs = []\nfor w in held:\n    xs.append(w.view(3, 1))\nw, x = None, xs[0]",
        ""),
    "put into a list": (
        "ws = []\nfor _ in range(90):\n    w = torch.ones(3, requires_grad=True)\n    ws.append(w)\nw = None\nx = ws[80].view(3, 1)",
        "ws[80]"),
    "in an object": (
        "class Box:\n    def __init__(self):\n        self.items = {'w': torch.ones(3, requires_grad=True)}\nbox = Box()\nx = box.items['w'].view(3, 1)",
        ""),
    "a local of a function": (
        "def leaf():\n    w = torch.ones(3, requires_grad=True)\n    return w\nx = leaf().view(3, 1)", ""),
    "in a list that holds itself": (
        "ws = [[torch.ones(3, requires_grad=True)]]\nws.append(ws)\nx = ws[0][0].view(3, 1)", "ws[0][0]"),
}  # fmt: skip


# What was made unseen, and has no path, cannot be known.
@pytest.mark.parametrize(
    ("case", "traced"),
    [(case, True) for case in HELD] + [(case, False) for case, held in HELD.items() if held[1]],
)
def test_a_leaf_in_a_container_is_not_hidden(case: str, traced: bool) -> None:
    text, name = HELD[case]
    ns = dict(IMPORTS)
    if traced:
        ran = run_traced(f"{text}\n{READ}", ns)
    else:
        exec(text, ns)
        ran = run_traced(READ, ns)
    found = [f for f in ran.trace.findings if f.severity != "info"]
    assert [(f.kind, f.variable) for f in found] == [("nonleaf_grad_read", "x")]
    if name:
        assert f"leaves behind it: `{name}`" in found[0].message
    else:
        assert "leaves behind it" not in found[0].message


UNSEEN = {
    "view": "x = torch.arange(6., requires_grad=True).reshape(2, 3)",
    "view of a parameter": "x = nn.Parameter(torch.ones(6)).view(2, 3)",
}


@pytest.mark.parametrize("case", UNSEEN)
def test_made_before_the_trace(case: str) -> None:
    ns: dict[str, Any] = dict(IMPORTS)
    exec(UNSEEN[case], ns)
    ran = run_traced(READ, ns)
    (finding,) = ran.trace.findings
    assert (finding.kind, finding.variable, finding.line) == ("hidden_leaf", "x", 2)
    assert finding.cell == ran.trace.cell.label
    assert "before this trace began" in finding.message
    assert "``" not in finding.message
    again = run_traced(f"{finding.fix}\n{READ}", ns)
    assert again.trace.findings == ()
    assert ns["g"] is not None


def test_made_in_an_earlier_cell_that_was_traced() -> None:
    ns = dict(IMPORTS)
    first = run_traced(UNSEEN["view"], ns)
    second = run_traced(READ, ns)
    (finding,) = second.trace.findings
    assert (finding.kind, finding.cell, finding.line) == ("hidden_leaf", first.trace.cell.label, 1)
    assert finding.source == UNSEEN["view"]
    run_traced(finding.fix, ns)
    assert run_traced(READ, ns).trace.findings == ()

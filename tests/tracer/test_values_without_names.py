"""Flags, gradients and ``retain_grad()`` of values that nothing points to; passes that go elsewhere."""

from __future__ import annotations

import ast

import numpy as np
import pytest
import torch
from torch import nn
from tracing_kit import run_traced

IMPORTS = {"__name__": "__main__", "torch": torch, "nn": nn, "np": np}
W = "w = torch.ones(3, requires_grad=True)\n"

# Code, the kind, the variable and the fix.
NAMELESS = {
    "flag off": (f"{W}(w * 2).requires_grad_(False)", "requires_grad_flag", "w * 2", "(w * 2).detach()"),
    "flag off, then a name": (
        f"{W}y = (w * 2).requires_grad_(False)", "requires_grad_flag", "w * 2", "y = (w * 2).detach()"),
    "flag off, by attribute": (f"{W}(w * 2).requires_grad = False", "requires_grad_flag", "w * 2", "(w * 2).detach()"),
    "flag off, of a call": (f"{W}w.exp().requires_grad_(False)", "requires_grad_flag", "w.exp()", "w.exp().detach()"),
    "flag off, of an item": (
        f"{W}ws = [w * 2]\nws[0].requires_grad_(False)", "requires_grad_flag", "ws[0]", "ws[0] = ws[0].detach()"),
    "flag on, then a name": (
        f"{W}y = (w * 2).requires_grad_()", "requires_grad_flag", "w * 2", "y = w * 2; y.retain_grad()"),
    "flag on": (
        f"{W}(w * 2).requires_grad_()", "requires_grad_flag", "w * 2",
        "give it a name, and keep its gradient: h = w * 2; h.retain_grad()"),
    "integers of a sum": (
        "a = torch.arange(3)\n(a + 1).requires_grad_()", "requires_grad_flag", "a + 1",
        "(a + 1).float().requires_grad_()"),
    "integers of NumPy": (
        "x = torch.from_numpy(np.arange(3)).requires_grad_()", "requires_grad_flag", "x",
        "x = torch.from_numpy(np.arange(3)).float().requires_grad_()"),
    "gradient of a product": (
        f"{W}(w * 2).grad", "nonleaf_grad_read", "w * 2",
        "give it a name, and keep its gradient: h = w * 2; h.retain_grad()  # before backward"),
    "gradient of a call": (
        f"{W}w.exp().grad", "nonleaf_grad_read", "w.exp()",
        "give it a name, and keep its gradient: h = w.exp(); h.retain_grad()  # before backward"),
    "gradient set on a product": (
        f"{W}(w * 2).grad = torch.ones(3)", "nonleaf_grad_read", "w * 2",
        "give it a name, and keep its gradient: h = w * 2; h.retain_grad()"),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMELESS)
def test_the_fix_does_not_bind_an_expression(case: str) -> None:
    text, kind, variable, fix = NAMELESS[case]
    ran = run_traced(text, dict(IMPORTS))
    assert [(f.kind, f.variable, f.fix) for f in ran.trace.findings] == [(kind, variable, fix)]
    (finding,) = ran.trace.findings
    assert "2.grad" not in finding.message
    ast.parse(fix.rpartition(": ")[2])
    if ran.error is not None:
        lines = text.split("\n")
        again = run_traced("\n".join([*lines[:-1], fix]), dict(IMPORTS))
        assert again.error is None
        assert again.trace.findings == ()
    if finding.edits:
        edited = run_traced(ran.trace.fixed_source(), dict(IMPORTS))
        assert edited.error is None
        assert edited.trace.findings == ()


def test_integers_of_numpy_are_told_by_what_holds_them() -> None:
    ran = run_traced("x = torch.from_numpy(np.arange(3)).requires_grad_()", dict(IMPORTS))
    (finding,) = ran.trace.findings
    assert "`torch.from_numpy(np.arange(3))` holds integers" in finding.message


ELSEWHERE = {
    "another product": f"{W}h = w * 2\nk = w * 3\nk.sum().backward()\nh.retain_grad()\nh.grad\nh.sum().backward()",
    "only what was detached": f"{W}h = w * 2\n(h.detach() * w).sum().backward()\nh.retain_grad()\nh.grad",
    "retained before": f"{W}h = w * 2\nh.retain_grad()\n(w * 3).sum().backward()\nh.grad",
    "in a loop": f"{W}for _ in range(3):\n    h = w * 2\n    (w * 3).sum().backward()\n    h.retain_grad()\n    h.grad\n    h.sum().backward()",
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_a_pass_that_goes_elsewhere_is_not_too_late(case: str) -> None:
    ran = run_traced(ELSEWHERE[case], dict(IMPORTS))
    assert [f for f in ran.trace.findings if f.kind == "retain_grad_misuse"] == []


LATE = {
    "and a pass elsewhere after it": (
        f"{W}h = w * 2\nh.sum().backward()\nh.retain_grad()\n(w * 3).sum().backward()\nh.grad", 3),
    "and a pass elsewhere before it": (
        f"{W}h = w * 2\nh.sum().backward()\n(w * 3).sum().backward()\nh.retain_grad()\nh.grad", 3),
    "by several steps": (
        f"{W}for _ in range(3):\n    h = w * 2\n    loss = h.exp().sum()\n    loss.backward()\n    h.retain_grad()\n    h.grad", 5),
}  # fmt: skip


@pytest.mark.parametrize("case", LATE)
def test_the_pass_that_went_through_is_named(case: str) -> None:
    text, line = LATE[case]
    ran = run_traced(text, dict(IMPORTS))
    (finding,) = [f for f in ran.trace.findings if f.kind == "retain_grad_misuse"]
    assert f"the backward of line {line};" in finding.message

"""The fix of a hidden leaf is all that its statement becomes."""

from __future__ import annotations

import pytest
from tracing_kit import run_traced

MAKE = "torch.arange(4., requires_grad=True).reshape(2, 2)"
MADE = "torch.arange(4.).reshape(2, 2).requires_grad_()"

PASTED = {
    "of two values, the first": (
        f"a, b = {MAKE}, torch.ones(2, requires_grad=True)\n(a * b).sum().backward()\ngot = a.grad",
        f"a, b = {MADE}, torch.ones(2, requires_grad=True)",
    ),
    "of two values, the last": (
        f"n, a = 3, {MAKE}\n(a * n).sum().backward()\ngot = a.grad",
        f"n, a = 3, {MADE}",
    ),
    "two names for one value": (
        f"x = y = {MAKE}\n(x + y).sum().backward()\ngot = y.grad",
        f"x = y = {MADE}",
    ),
    "an attribute and a name": (
        f"import types\nkept = types.SimpleNamespace()\nkept.x = y = {MAKE}\n"
        "y.sum().backward()\ngot = kept.x.grad",
        f"kept.x = y = {MADE}",
    ),
    "a shared line": (
        f"a = {MAKE}; n = 3\n(a * n).sum().backward()\ngot = a.grad",
        f"a = {MADE}; n = 3",
    ),
    "behind the head of a block": (
        f"if True: a = {MAKE}; n = 3\n(a * n).sum().backward()\ngot = a.grad",
        f"if True: a = {MADE}; n = 3",
    ),
    "with an annotation": (
        f"a: torch.Tensor = {MAKE}\na.sum().backward()\ngot = a.grad",
        f"a: torch.Tensor = {MADE}",
    ),
    "in an expression": (
        f"(a := {MAKE}).sum().backward()\ngot = a.grad",
        f"(a := {MADE}).sum().backward()",
    ),
    "an item of a dict": (
        f"d = {{'a': {MAKE}}}\nd['a'].sum().backward()\ngot = d['a'].grad",
        f"d = {{'a': {MADE}}}",
    ),
    "an argument": (
        f"def run(t):\n    t.sum().backward()\n    return t.grad\ngot = run({MAKE})",
        f"got = run({MADE})",
    ),
    "pieces": (
        "a, b = torch.ones(4, requires_grad=True).chunk(2)\n(a * b).sum().backward()\ngot = a.grad",
        "a, b = (t.requires_grad_() for t in torch.ones(4).chunk(2))",
    ),
    "rows": (
        "a, b = torch.ones(2, 3, requires_grad=True)\n(a * b).sum().backward()\ngot = a.grad",
        "a, b = (t.requires_grad_() for t in torch.ones(2, 3))",
    ),
    "rows of a product, in a list": (
        "[a, *b] = torch.ones(2, 3, requires_grad=True) * 2\na.sum().backward()\ngot = a.grad",
        "[a, *b] = (t.requires_grad_() for t in torch.ones(2, 3) * 2)",
    ),
    "over lines": (
        "a = (torch.arange(4., requires_grad=True)\n     .reshape(2, 2))  # a table\n"
        "a.sum().backward()\ngot = a.grad",
        "a = (torch.arange(4.)\n     .reshape(2, 2)).requires_grad_()",
    ),
}


@pytest.mark.parametrize("name", PASTED)
def test_nothing_else_of_the_statement_is_lost(name: str) -> None:
    text, fix = PASTED[name]
    (found,) = run_traced(text).trace.findings
    assert (found.code, found.fix) == ("LM102", fix)
    lines = text.split("\n")
    more = fix.count("\n") + 1
    lines[found.line - 1 : found.line - 1 + more] = [fix]
    again = run_traced("\n".join(lines))
    assert again.error is None
    assert again.ns["got"] is not None
    assert again.trace.findings == ()

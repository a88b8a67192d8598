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
    "a local of a function": (
        "def xavier(n, m):\n    w = torch.ones(n, m, requires_grad=True)\n    return w * 0.1\n"
        "W = xavier(3, 4)\nW.sum().backward()\ngot = W.grad",
        "    return (w * 0.1).detach().requires_grad_()",
    ),
    "a local of a function that names the result": (
        "def table(n):\n    w = torch.ones(n, requires_grad=True)\n    v = w.view(1, n)\n    return v\n"
        "v = table(3)\nv.sum().backward()\ngot = v.grad",
        "    v = w.view(1, n).detach().requires_grad_()",
    ),
    "a local of a function that returns two": (
        "def table(n):\n    w = torch.ones(n, requires_grad=True)\n    v = w.view(1, n)\n"
        "    return v, n\nv, n = table(3)\nv.sum().backward()\ngot = v.grad",
        "    v = w.view(1, n).detach().requires_grad_()",
    ),
    "a local of a constructor": (
        "class A:\n    def __init__(self, n):\n        w = torch.ones(n, requires_grad=True)\n"
        "        self.w = w * 0.1\na = A(3)\na.w.sum().backward()\ngot = a.w.grad",
        "        self.w = (w * 0.1).detach().requires_grad_()",
    ),
    "from numpy": (
        "import numpy\na = numpy.ones(3)\nt = torch.from_numpy(a).requires_grad_().float()\n"
        "t.sum().backward()\ngot = t.grad",
        "t = torch.from_numpy(a).float().requires_grad_()",
    ),
    "Variable": (
        "from torch.autograd import Variable\n"
        "v = Variable(torch.ones(2, 2), requires_grad=True).mul(3)\nv.sum().backward()\ngot = v.grad",
        "v = Variable(torch.ones(2, 2)).mul(3).requires_grad_()",
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
    assert (found.code, found.fix) == ("LM102", fix.strip())
    lines = text.split("\n")
    more = fix.count("\n") + 1
    lines[found.line - 1 : found.line - 1 + more] = [fix]
    again = run_traced("\n".join(lines))
    assert again.error is None
    assert again.ns["got"] is not None
    assert again.trace.findings == ()


NOT_HIDDEN = {
    "read inside the function": (
        "def f(n):\n    w = torch.ones(n, requires_grad=True)\n    h = w * 2\n"
        "    h.sum().backward()\n    return h, h.grad\nh, got = f(3)"
    ),
    "read by a helper that the function calls": (
        "def g(t):\n    t.sum().backward()\n    return t.grad\ndef f(n):\n"
        "    w = torch.ones(n, requires_grad=True)\n    h = w * 2\n    return g(h)\nf(3)"
    ),
    "the leaf is given away, too": (
        "def f(n):\n    w = torch.ones(n, requires_grad=True)\n    h = w * 2\n"
        "    return w, h\nw, h = f(3)\nh.sum().backward()\ngot = h.grad"
    ),
    "the leaf is kept": (
        "kept = []\ndef f(n):\n    w = torch.ones(n, requires_grad=True)\n    kept.append(w)\n"
        "    return w * 2\nh = f(3)\nh.sum().backward()\ngot = h.grad"
    ),
    "an argument": (
        "def f(w):\n    return w * 2\nw = torch.ones(3, requires_grad=True)\nh = f(w)\n"
        "h.sum().backward()\ngot = h.grad"
    ),
    "a global": (
        "w = torch.ones(3, requires_grad=True)\ndef f():\n    return w * 2\nh = f()\n"
        "h.sum().backward()\ngot = h.grad"
    ),
    "kept in a list, from numpy": (
        "import numpy\nps = [torch.from_numpy(numpy.ones(3)).requires_grad_()]\n"
        "h = ps[0].mul(2)\nh.sum().backward()\ngot = h.grad"
    ),
}


@pytest.mark.parametrize("name", NOT_HIDDEN)
def test_a_leaf_that_can_be_reached_is_not_hidden(name: str) -> None:
    assert {found.code for found in run_traced(NOT_HIDDEN[name]).trace.findings} == {"LM101"}

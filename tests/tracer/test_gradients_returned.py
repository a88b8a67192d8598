"""What backward of a custom function gives back: too little, of another shape, None."""

from __future__ import annotations

import pytest
from casefiles import cells_of
from caserun import CaseShell
from tracing_kit import run_traced

HEAD = """import torch
class Scale(torch.autograd.Function):
    @staticmethod
    def forward({inputs}):
        {saved}
        return {value}
    @staticmethod
    def backward(ctx, g):
        {first}
        {last}
"""
LEAVES = "a, b = torch.ones(4, 3, requires_grad=True), torch.ones(3, 2, requires_grad=True)\n"


def scale(last: str, inputs: str = "ctx, x, w", value: str = "x @ w") -> str:
    """Return a custom function; the last line of backward is line 10."""
    names = ", ".join(name for name in ("x", "w") if name in inputs.split(", "))
    saved, first = f"ctx.save_for_backward({names})", f"{names}, = ctx.saved_tensors"
    return HEAD.format(inputs=inputs, saved=saved, value=value, first=first, last=last)


TOO_FEW = scale("return g @ w.t()") + LEAVES + "Scale.apply(a, b).sum().backward()"
MISTAKES = {
    "too few, of a tensor that is trained": (
        TOO_FEW,
        ("b", "error", 10, 12),
        ("1 gradient, and forward was given 2 inputs", "`w` (given `b`)"),
        "the gradient of `w`",
    ),
    "too few, of a number": (
        scale("return g * 3", "ctx, x, k", "x * k")
        + LEAVES
        + "Scale.apply(a, 3.).sum().backward()",
        ("k", "error", 10, 12),
        ("none is returned for `k`",),
        "return g * 3, None",
    ),
    "under another name, several to a line": (
        scale("return (g * 3,)", "ctx, x, k, p=2", "x * k")
        + "f = Scale.apply\ndef g(t):\n    return f(t, 3, -1)\n"
        + LEAVES
        + "for _ in range(1):\n    g(a * 2).sum().backward()",
        ("k", "error", 10, 16),
        ("none is returned for `k` and `p`",),
        "return g * 3, None, None",
    ),
    "too many": (
        scale("return g * 3, g", "ctx, x", "x * 3") + LEAVES + "Scale.apply(a).sum().backward()",
        ("Scale", "error", 10, 12),
        ("2 gradients, and forward was given 1 input.",),
        "return g * 3",
    ),
    "transposed": (
        scale("return None, g @ w.t(), g.t() @ x", "ctx, k, x, w")
        + LEAVES
        + "Scale.apply(2, a, b).sum().backward()",
        ("b", "error", 10, 12),
        ("of shape [2, 3] for `w` (given `b`)", "[3, 2]"),
        "return None, g @ w.t(), (g.t() @ x).t()",
    ),
    "of what was broadcast": (
        scale("return g * w, (g * x).sum(1)", value="x * w")
        + "a, b = torch.ones(4, 3, requires_grad=True), torch.ones(3, requires_grad=True)\n"
        + "Scale.apply(a, b).sum().backward()",
        ("b", "error", 10, 12),
        ("of shape [4] for `w` (given `b`)", "[3]"),
        "sum over what was broadcast",
    ),
    "for what is no tensor": (
        scale("return g * 3, g.sum()", "ctx, x, k", "x * k")
        + LEAVES
        + "Scale.apply(a, 3.).sum().backward()",
        ("k", "error", 10, 12),
        ("`k`, which is no tensor",),
        "return g * 3, None",
    ),
    "None for what is trained": (
        scale("return g @ w.t(), None") + LEAVES + "Scale.apply(a, b).sum().backward()",
        ("b", "warning", 10, 12),
        ("returns None for `w` (given `b`)", "`b` gets no gradient"),
        "the gradient of `w`",
    ),
    "a branch that forgets one of a module's parameters": (
        scale("return gx, gw").replace(
            "        return gx",
            "        gx = gw = None\n        if ctx.needs_input_grad[0]:\n"
            "            gx = g @ w.t()\n        return gx",
        )
        + "class Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.w = torch.nn.Parameter(torch.ones(3, 2))\n"
        "    def forward(self, x):\n        return Scale.apply(x, self.w)\n"
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), Net())\n"
        "for _ in range(3):\n    net(torch.ones(4, 3)).sum().backward()",
        ("self.w", "warning", 13, 22),
        ("None for `w` (given `self.w`)", "`net.1.w` gets no gradient"),
        "the gradient of `w`",
    ),
    "no return": (
        scale("g * 3", "ctx, x", "x * 3") + LEAVES + "Scale.apply(a).sum().backward()",
        ("a", "warning", 10, 12),
        ("returns nothing for `x` (given `a`)",),
        "return g * 3",
    ),
    "a gradient that is stopped, and that is said": (
        scale("return None", "ctx, x", "x * 3") + LEAVES + "Scale.apply(a).sum().backward()",
        ("a", "info", 10, 12),
        ("returns None for `x` (given `a`)",),
        "a.detach()",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_it_is_found(name: str) -> None:
    text, expected, says, fix = MISTAKES[name]
    ran = run_traced(text)
    assert ran.notes == []
    (found,) = [f for f in ran.trace.findings if f.kind == "custom_function"]
    assert found.code == "LM806"
    assert (found.variable, found.severity, found.line, found.symptom_line) == expected
    assert [part for part in says if part not in found.message] == []
    assert fix in found.fix
    if expected[1] == "error":
        assert found.message in "".join(ran.error.__notes__)


@pytest.mark.parametrize("name", [name for name in MISTAKES if "return " in MISTAKES[name][3]])
def test_the_pasted_fix_runs(name: str) -> None:
    ran = run_traced(MISTAKES[name][0])
    assert run_traced(ran.trace.fixed_source()).error is None


QUIET = {
    "what does not require grad, and what is no tensor": (
        scale("return g @ w.t(), None, None", "ctx, x, w, k")
        + LEAVES
        + "Scale.apply(a, b.detach(), 3).sum().backward()"
    ),
    "integers": (
        scale("return g * i.float()[:, None], None", "ctx, x, i", "x * i[:, None]").replace(
            "save_for_backward(x)", "save_for_backward(i)"
        )
    ).replace("x, = ctx", "i, = ctx")
    + LEAVES
    + "Scale.apply(a, torch.arange(4)).sum().backward()",
    "another way to the leaf": (
        scale("return g @ w.t(), None")
        + LEAVES
        + "(Scale.apply(a, b).sum() + (b * 2).sum()).backward()"
    ),
    "a pass that asks for one of them": (
        scale("return g @ w.t() if ctx.needs_input_grad[0] else None, None")
        + LEAVES
        + "Scale.apply(a, b).sum().backward(inputs=[a])\n"
        + "torch.autograd.grad(Scale.apply(a, b).sum(), a)"
    ),
    "an output that is not used": (
        "import torch\nclass Two(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, x, y):\n        ctx.set_materialize_grads(False)\n"
        "        return x * 2, y * 3\n"
        "    @staticmethod\n    def backward(ctx, g, h):\n"
        "        return None if g is None else g * 2, None if h is None else h * 3\n"
        "a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)\n"
        "c, d = Two.apply(a, b)\nc.sum().backward()"
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_it_stays_quiet(name: str) -> None:
    ran = run_traced(QUIET[name])
    assert ran.error is None
    assert ran.notes == []
    assert ran.found == set()


def test_a_class_of_an_earlier_cell_whose_name_is_gone() -> None:
    made = scale("return g @ w.t()").replace("class", "def make():\n    class", 1)
    head, _, body = made.partition("class")
    body = body.replace("\n", "\n    ").rstrip()
    text = f"{head}class{body}\n    return Scale.apply\nscale = make()\n# %%\n{LEAVES}"
    text += "loss = scale(a, b).sum()\nloss.backward()"
    with CaseShell() as shell:
        ran = shell.run(cells_of(text))
    assert ran.raised == ["RuntimeError"]
    (found,) = ran.found
    assert (found.finding.code, found.finding.cell, found.finding.line) == (
        "LM806",
        "Cell In[1]",
        11,
    )


def test_grad_in_a_backward_whose_class_is_gone() -> None:
    last = "x = x.detach().requires_grad_(); y = x * x; return torch.autograd.grad(y, x, g)[0]"
    text = scale(last, "ctx, x", "x * x") + "square = Scale.apply\ndel Scale\n# %%\n"
    text += "square(torch.ones(1, requires_grad=True)).backward()"
    with CaseShell() as shell:
        ran = shell.run(cells_of(text))
    assert ran.raised == ["RuntimeError"]
    (found,) = ran.found
    assert (found.finding.code, found.finding.variable, found.finding.line) == ("LM803", "y", 10)

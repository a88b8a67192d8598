"""Where two rules could speak of one mistake: the more precise one does, and only then."""

from __future__ import annotations

import pytest
from tracing_kit import run_traced

DOUBLE = """\
import torch
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
w = torch.ones(2, requires_grad=True)
"""

INNER = """\
import torch
class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()
    @staticmethod
    def backward(ctx, g):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        y = x.sin()
        return torch.autograd.grad(y, x, g)[0]
w = torch.ones(2, requires_grad=True)
"""

TOLD = {
    "an update of a parameter that its module refuses": (
        "import torch\nlin = torch.nn.Linear(2, 2)\n"
        "lin(torch.ones(1, 2)).sum().backward()\n"
        "lin.weight = lin.weight - 0.1 * lin.weight.grad",
        {("LM423", "lin.weight", 4)},
    ),
    "inside backward, of one of two roots": (
        INNER + "a, b = Inner.apply(w), w * 3\ntorch.autograd.backward([b.sum(), a.sum()])",
        {("LM803", "y", 10)},
    ),
    "a root without a graph beside a custom function": (
        DOUBLE + "good = Double.apply(w).sum()\nbad = (w * 3).detach().sum()\n"
        "torch.autograd.backward([good, bad])",
        {("LM402", "bad", 11)},
    ),
    "a root without a graph, and a custom function that is not used": (
        DOUBLE + "Double.apply(w)\nbad = (w * 3).detach().sum()\nbad.backward()",
        {("LM402", "bad", 11)},
    ),
    "a view under no_grad, and another leaf that is not used": (
        "import torch\nw = torch.ones(4, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "with torch.no_grad():\n    rows = w.view(2, 2)\n(rows ** 2).sum().backward()\n"
        "print(w.grad, b.grad)",
        {("LM704", "rows", 5), ("LM411", "b", 3)},
    ),
    "a view under no_grad that the loss does not use": (
        "import torch\nw = torch.ones(4, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "with torch.no_grad():\n    print(w.view(2, 2).sum())\n(b ** 2).sum().backward()\n"
        "print(w.grad)",
        {("LM411", "w", 2)},
    ),
    "an update of a parameter in a dict": (
        "import torch\nlayer = torch.nn.Linear(1, 1)\np = dict(layer.named_parameters())\n"
        "for _ in range(2):\n    (p['weight'] ** 2).sum().backward()\n"
        "    p['weight'] = p['weight'] - 0.1 * p['weight'].grad",
        {("LM103", "p['weight']", 6)},
    ),
}


@pytest.mark.parametrize("name", TOLD)
def test_only_the_more_precise_is_told(name: str) -> None:
    text, expected = TOLD[name]
    ran = run_traced(text)
    assert ran.notes == []
    told = {(f.code, f.variable, f.line) for f in ran.trace.findings if f.severity != "info"}
    assert told == expected


@pytest.mark.parametrize(
    ("loss", "expected"),
    [("torch.tensor(log).sum() + w.sum()", set()), ("w.sum()", {"log"})],
    ids=["a copy of them is used", "nobody uses them"],
)
def test_graphs_in_a_list_that_a_loss_copies_are_not_superfluous(
    loss: str, expected: set[str]
) -> None:
    ran = run_traced(
        "import torch\nw = torch.ones(2, requires_grad=True)\nstate, log = w, []\n"
        f"for _ in range(4):\n    state = state.sin()\n    log.append(state.sum())\n({loss}).backward()"
    )
    assert ran.notes == []
    assert {f.variable for f in ran.trace.findings if f.code == "LM602"} == expected

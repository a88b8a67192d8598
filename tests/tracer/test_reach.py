"""What a backward pass gets to: the same leaves that torch fills."""

from __future__ import annotations

import pytest
import torch
from tracing_kit import run_traced

from leafmagic.reach import reach
from leafmagic.records import best_name

CELLS = {
    "a net": "net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))\nloss = net(torch.ones(4, 2)).sum()",
    "detached": "a = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\nloss = (a.detach() * b).sum()",
    "in a loop": "w = torch.ones(2, requires_grad=True)\nh = torch.zeros(2)\nfor _ in range(5):\n    h = (h + w).tanh()\nloss = h.sum()",
    "views and writes": "a = torch.ones(4, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\ny = a * 1\ny[:2] = b\nloss = y.sum()",
    "a leaf alone": "loss = torch.ones((), requires_grad=True)",
    "unused": "a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)\nloss = (a * 2).sum()",
}


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("steps", [1, 3])
def test_the_leaves_are_those_that_torch_fills(cell: str, steps: int) -> None:
    body = CELLS[cell].replace("\n", "\n    ")
    ran = run_traced(f"for _step in range({steps}):\n    {body}\n    loss.backward()")
    assert ran.error is None, ran.error
    filled = {
        name
        for name, value in ran.ns.items()
        if isinstance(value, torch.Tensor) and value.is_leaf and value.grad is not None
    }
    net = ran.ns.get("net")
    if net is not None:
        filled |= {f"net.{name}" for name, p in net.named_parameters() if p.grad is not None}
    model = ran.trace.model
    leaves = reach(model, model.passes[-1].roots).leaves
    assert {best_name(record) for record in leaves} == filled

"""Fixes are told so that they hold where they are put: in comprehensions, lambdas, lists."""

from __future__ import annotations

from typing import Any

import pytest
from casefiles import cells_of

PLACES = {
    "an update in a comprehension": (
        """
import torch
ps = [torch.ones(2, requires_grad=True) for _ in range(2)]
for _ in range(2):
    sum((p ** 2).sum() for p in ps).backward()
    ps = [p - 0.1 * p.grad for p in ps]
""",
        "with torch.no_grad():\n    for p in ps:\n        p -= 0.1 * p.grad\n        p.grad = None",
    ),
    "an update in a helper": (
        """
import torch
def descend(value, rate):
    return value - rate * value.grad
theta = torch.zeros(2, requires_grad=True)
for _ in range(2):
    (theta - 1).pow(2).sum().backward()
    theta = descend(theta, 0.1)
""",
        "with torch.no_grad():\n    value -= rate * value.grad\nvalue.grad = None\nreturn value",
    ),
    "a write in a lambda": (
        """
import torch
shift = lambda p: p.add_(1)
shift(torch.ones(2, requires_grad=True))
""",
        "make the lambda a function with @torch.no_grad() above it",
    ),
    "elements of a list for an optimizer": (
        """
import torch
noises = [torch.randn(n, requires_grad=True) * 0.1 for n in (2, 3)]
torch.optim.SGD(noises, lr=0.1)
""",
        "(torch.randn(n) * 0.1).requires_grad_()  "
        "# in place of torch.randn(n, requires_grad=True) * 0.1",
    ),
    "a gradient that is cleared before there is one": (
        """
import torch
net = torch.nn.Linear(2, 1)
for p in net.parameters():
    p.grad.zero_()
""",
        "if p.grad is not None: p.grad.zero_()",
    ),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_fix_fits_its_place(place: str, case_shell: Any) -> None:
    code, fix = PLACES[place]
    ran = case_shell.run(cells_of(code.lstrip("\n")))
    assert [f.finding.fix for f in ran.found] == [fix]

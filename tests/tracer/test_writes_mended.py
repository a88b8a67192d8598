"""A leaf is written in place: the fix computes a new tensor where the result is used."""

from __future__ import annotations

import pytest
import torch
from tracing_kit import run_traced

W = "import torch.nn.functional as F\nw = torch.ones(3, requires_grad=True)\n"

USED = {
    "a chain": ("y = w.mul_(2).add_(1).sum()", "y = w.mul(2).add(1).sum()", 2),
    "a chain of both kinds": (
        "y = w.mul_(2).add(1).sub_(3).sum()",
        "y = w.mul(2).add(1).sub(3).sum()",
        2,
    ),
    "on a shared line": ("y = w.mul_(2).sum(); n = 1", "y = w.mul(2).sum(); n = 1", 2),
    "over lines": (
        "y = (w\n     .mul_(2)  # twice\n     .sum())",
        "y = (w\n     .mul(2)  # twice\n     .sum())",
        2,
    ),
    "of a name of its own": ("z = w.mul_(2)\ny = z.sum()", "z = w.mul(2)", 2),
    "in an expression": ("y = (w.mul_(3) ** 2).sum()", "y = (w.mul(3) ** 2).sum()", 18),
    "of a piece": ("y = w[0].mul_(2).sum() + w.sum()", "y = w[0].mul(2).sum() + w.sum()", None),
    "in a function": (
        "def f(t):\n    return t.exp_().log().sum()\ny = f(w)",
        "return t.exp().log().sum()",
        1,
    ),
    "a function of torch": ("y = torch.relu_(w).sum()", "y = torch.relu(w).sum()", 1),
    "with a flag": ("y = F.relu(w, inplace=True).sum()", "y = F.relu(w).sum()", 1),
    "with a flag at first": (
        "y = F.leaky_relu(inplace=True, input=w).sum()",
        "y = F.leaky_relu(input=w).sum()",
        1,
    ),
    "with out": ("y = torch.mul(w, 2, out=w).sum()", "y = torch.mul(w, 2).sum()", 2),
    "a module with a flag": (
        "y = torch.nn.ReLU(inplace=True)(w).sum()",
        "y = torch.nn.ReLU()(w).sum()",
        1,
    ),
    "a module of another line": (
        "act = torch.nn.ReLU(inplace=True)\ny = act(w).sum()",
        "y = act(w.clone()).sum()",
        1,
    ),
    "by position": (
        "y = F.relu(w, True).sum()",
        "y = F.relu(w.clone(), True).sum()",
        1,
    ),
}


@pytest.mark.parametrize("name", USED)
def test_what_is_computed_keeps_its_graph(name: str) -> None:
    cell, fix, gradient = USED[name]
    ran = run_traced(W + cell + "\ny.backward()")
    assert ran.error is not None
    (found,) = ran.trace.findings
    assert (found.code, found.fix) == ("LM201", fix)
    again = run_traced(ran.trace.fixed_source())
    assert again.error is None
    assert again.trace.findings == ()
    w = again.ns["w"]
    assert w.is_leaf
    assert w.tolist() == [1, 1, 1]
    assert w.grad.tolist() == ([3, 1, 1] if gradient is None else [gradient] * 3)


ITSELF = {
    "a statement": "w.mul_(2)",
    "a statement that is a chain": "w.mul_(4).sub_(2)",
    "its own name": "w = w.mul_(2)",
    "first values": "v = w.fill_(2)",
    "in a function that returns it": "def f(t):\n    return t.mul_(2)\nf(w)",
    "for the effect": "[t.mul_(2) for t in (w,)]",
    "with out alone": "torch.add(w, 1, out=w)",
}


@pytest.mark.parametrize("name", ITSELF)
def test_what_is_done_to_the_leaf_itself_goes_under_no_grad(name: str) -> None:
    ran = run_traced(W + ITSELF[name])
    (found,) = ran.trace.findings
    assert found.code == "LM201"
    assert found.fix.startswith("with torch.no_grad(): ")
    again = run_traced(ran.trace.fixed_source())
    assert again.error is None
    assert torch.equal(again.ns["w"], torch.full((3,), 2.0))
    assert again.ns["w"].requires_grad
    assert again.ns["w"].is_leaf


def test_a_chain_that_reads_what_it_wrote_is_mended_in_words() -> None:
    (found,) = run_traced(W + "y = w.mul_(2).add_(w).sum()").trace.findings
    assert (found.fix, found.edits) == ("use the methods without _, which make new tensors", ())

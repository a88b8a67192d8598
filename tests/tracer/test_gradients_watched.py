"""Looking at the gradients of a pass: what is seen, and that nothing is left or changed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tracing_kit import check_well, run_plain, run_traced

from leafmagic import nodewatch
from leafmagic.counting import Counts, is_calm
from leafmagic.nodewatch import MOST_NODES, NodeWatch

ROOT = """
x = torch.tensor([0., 4.], requires_grad=True)
y = torch.sqrt(x)
loss = (y * 0).sum()
loss.backward(retain_graph=True)
"""


def codes(ran: Any) -> list[str]:
    return [finding.code for finding in ran.trace.findings]


def test_it_is_found_and_the_values_are_torchs() -> None:
    plain, traced = run_plain(ROOT), run_traced(ROOT)
    check_well(traced)
    assert codes(traced) == ["LM901"]
    assert torch.equal(plain.ns["x"].grad.isnan(), traced.ns["x"].grad.isnan())


def test_grads_off_looks_at_nothing() -> None:
    ran = run_traced(ROOT, grads="off")
    check_well(ran)
    assert codes(ran) == []


def test_no_hook_stays_on_a_graph_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    passed = NodeWatch._passed

    def counted(*args: Any) -> None:
        called.append(1)
        passed(*args)

    monkeypatch.setattr(NodeWatch, "_passed", counted)
    ran = run_traced(ROOT)
    there = len(called)
    assert there > 0
    ran.ns["loss"].backward()
    assert len(called) == there


def test_a_loop_is_watched_in_its_first_steps_only(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    begin = NodeWatch.begin

    def counted(*args: Any) -> None:
        begun.append(1)
        begin(*args)

    monkeypatch.setattr(NodeWatch, "begin", counted)
    text = """
w = torch.ones(3, requires_grad=True)
for step in range(40):
    w.grad = None
    (w * w).sum().backward()
"""
    check_well(run_traced(text))
    assert len(begun) == 2


def test_a_loss_that_becomes_infinite_later_is_looked_at() -> None:
    text = """
w = torch.tensor(6., requires_grad=True)
for step in range(9):
    w.grad = None
    loss = torch.log(w)
    loss.backward()
    with torch.no_grad():
        w -= 1
"""
    (found,) = run_traced(text).trace.findings
    assert (found.code, found.variable, found.line) == ("LM901", "w", 5)
    assert "log(0)" in found.message


@pytest.mark.parametrize("create", [True, False])
def test_second_derivatives_are_the_same(create: bool) -> None:
    text = f"""
x = torch.randn(5, requires_grad=True)
first, = torch.autograd.grad((x.exp() * x).sum(), x, create_graph={create}, retain_graph=True)
if first.requires_grad:
    first.pow(2).sum().backward()
"""
    plain, traced = run_plain(text), run_traced(text)
    check_well(traced)
    assert torch.equal(plain.ns["first"], traced.ns["first"])
    if create:
        assert torch.equal(plain.ns["x"].grad, traced.ns["x"].grad)


def test_a_graph_of_many_nodes_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(NodeWatch, "_passed", lambda *_: called.append(1))
    text = f"""
x = torch.zeros(2, requires_grad=True)
y = torch.sqrt(x)
for _ in range({MOST_NODES}):
    y = y + 1
y.sum().backward()
"""
    check_well(run_traced(text))
    assert called == []


def test_what_a_hook_of_ours_raises_does_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("ours")

    monkeypatch.setattr(Counts, "add_unsound", broken)
    plain, traced = run_plain(ROOT), run_traced(ROOT)
    assert traced.error is None
    assert codes(traced) == []
    assert torch.equal(plain.ns["x"].grad.isnan(), traced.ns["x"].grad.isnan())


def test_hooks_and_users_own_functions_stay_in_order() -> None:
    text = """
told = []
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        told.append("backward")
        return g * 2
x = torch.ones(2, requires_grad=True)
y = Double.apply(x)
y.register_hook(lambda g: told.append("tensor"))
y.grad_fn.register_hook(lambda *_: told.append("node"))
x.register_post_accumulate_grad_hook(lambda p: told.append("leaf"))
y.sum().backward()
"""
    plain, traced = run_plain(text), run_traced(text)
    check_well(traced)
    assert plain.ns["told"] == traced.ns["told"] == ["tensor", "backward", "node", "leaf"]


def test_a_function_that_makes_nan_in_its_backward_is_named() -> None:
    text = """
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, g):
        return g / 0
x = torch.ones(2, requires_grad=True)
y = Half.apply(x)
y.sum().backward()
"""
    (found,) = run_traced(text).trace.findings
    assert "HalfBackward" in found.message
    assert "Half.backward" in found.fix


def test_what_other_modes_and_profilers_would_see_is_left_out() -> None:
    assert is_calm()
    with torch.autograd.profiler.profile():
        assert not is_calm()


def test_counts_add_up() -> None:
    counts = Counts()
    counts.add("bad", 1, torch.tensor([True, False]))
    counts.add("bad", 1, torch.tensor([True]))
    counts.add("good", 2, torch.tensor([False]))
    counts.add_unsound("bad", 4, torch.tensor([1.0, float("inf"), -float("inf"), float("nan")]))
    counts.add_unsound("bad", 5, torch.full((3,), 3e38))
    counts.add_unsound("bad", 6, torch.tensor([1j, complex("nan")]))
    counts.fetch()
    assert counts.of("bad") == {1: 2, 4: 3, 5: 0, 6: 1}
    assert (counts.get("good", 2), counts.get("good", 3)) == (0, -1)


def test_no_hook_stays_when_they_cannot_all_be_put(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []
    monkeypatch.setattr(NodeWatch, "_passed", lambda *_: called.append(1))
    monkeypatch.setattr(nodewatch, "_flattens", refuse_root)
    ran = run_traced("x = torch.ones(2, requires_grad=True)\n(x.exp() * 2).sum().backward()\n")
    assert ran.error is None
    assert called == []
    assert ran.ns["x"].grad is not None


def refuse_root(node: Any) -> bool:
    if node.name().startswith("Exp"):
        raise ValueError("ours")
    return False

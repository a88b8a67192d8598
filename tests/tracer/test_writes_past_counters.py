"""Writes that torch does not count: what is remembered of memory, and that it costs little."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from tracing_kit import check_well, run_plain, run_traced

from leafmagic import fingerprints
from leafmagic.fingerprints import MemoryWatch


def test_memory_that_is_remembered_is_not_kept() -> None:
    watch = MemoryWatch()
    tensor = torch.ones(1000)
    watch.hand_over(tensor, 1)
    (alias,) = watch.aliases
    storage = weakref.ref(tensor.untyped_storage())
    del tensor
    gc.collect()
    assert storage() is None
    assert alias.span.storage.expired()
    watch.compare(3)
    assert not alias.changed


def test_the_same_memory_is_remembered_once() -> None:
    watch = MemoryWatch()
    tensor = torch.ones(10)
    for _ in range(3):
        watch.hand_over(tensor, 1)
    watch.hand_over(tensor[2:], 2)
    assert len(watch.aliases) == 2


def test_a_change_is_noticed_between_two_lines() -> None:
    watch = MemoryWatch()
    tensor = torch.ones(10)
    watch.hand_over(tensor, 1)
    watch.compare(4)
    tensor.data[3] = 2
    watch.compare(6)
    changed, again = watch.aliases
    assert changed.changed
    assert (changed.write.first, changed.write.last) == (4, 6)
    assert not again.changed


def test_comparing_ends_when_the_budget_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprints, "_BUDGET", 100)
    watch = MemoryWatch()
    tensor = torch.ones(10)
    watch.hand_over(tensor, 1)
    for line in range(5):
        watch.compare(line)
    tensor.data[3] = 2
    watch.compare(9)
    assert not any(alias.changed for alias in watch.aliases)


def test_large_memory_is_left_alone() -> None:
    watch = MemoryWatch()
    watch.hand_over(torch.empty(2_000_000), 1)
    assert watch.aliases == []


def test_a_write_that_torch_counts_is_torchs_to_report() -> None:
    text = """
a = torch.ones(3, requires_grad=True)
e = a.exp()
arr = e.detach().numpy()
e.detach().mul_(2)
try:
    e.sum().backward()
except RuntimeError as error:
    said = str(error)
"""
    ran = run_traced(text)
    check_well(ran)
    assert {finding.kind for finding in ran.trace.findings} == {"saved_tensor_mutated"}


def test_another_part_of_the_memory_may_be_written() -> None:
    text = """
a = torch.ones(4, requires_grad=True)
buffer = torch.zeros(8)
x = buffer[:4]
loss = (a * x).sum()
buffer.data[4:] = 7
loss.backward()
"""
    ran = run_traced(text)
    check_well(ran)
    assert ran.trace.findings == ()


def test_the_gradients_are_torchs_own_wrong_ones() -> None:
    text = """
x = torch.tensor([0.5, -0.5], requires_grad=True)
y = x.exp()
arr = y.detach().numpy()
arr *= 100
y.sum().backward()
"""
    plain, traced = run_plain(text), run_traced(text)
    check_well(traced)
    assert torch.equal(plain.ns["x"].grad, traced.ns["x"].grad)
    (found,) = traced.trace.findings
    assert (found.variable, found.line, found.symptom_line) == ("arr", 5, 6)


def test_what_torch_will_refuse_is_known_before_it_does() -> None:
    text = """
from leafmagic import last
x = torch.zeros(2, requires_grad=True)
a = x.exp()
a += 1
def look(grad):
    told.extend(last().findings)
told = []
b = a * 1
b.register_hook(look)
try:
    b.sum().backward()
except RuntimeError as error:
    said = error
"""
    ran = run_traced(text)
    check_well(ran)
    (found,) = ran.trace.findings
    assert (found.kind, found.variable, found.line) == ("saved_tensor_mutated", "a", 5)
    assert (found.severity, found.count) == ("error", 1)
    assert [early.line for early in ran.ns["told"]] == [5]
    assert found.explanation() in ran.ns["said"].__notes__


def test_a_pass_to_some_leaves_may_leave_the_changed_part_out() -> None:
    text = """
x = torch.zeros(2, requires_grad=True)
y = torch.zeros(2, requires_grad=True)
a = x.exp()
loss = a.sum() + (y * 2).sum()
with torch.no_grad():
    a.add_(1)
gradient, = torch.autograd.grad(loss, y, retain_graph=True)
loss.backward(inputs=[y])
"""
    ran = run_traced(text)
    check_well(ran)
    assert ran.trace.findings == ()


@pytest.mark.parametrize(("end", "severity"), [("a.sum()", "warning"), ("a * 2", "info")])
def test_a_graph_that_nobody_ran_over_is_looked_at_in_the_end(end: str, severity: str) -> None:
    text = f"""
x = torch.zeros(2, requires_grad=True)
a = x.exp()
kept = {end}
a += 1
"""
    (found,) = run_traced(text).trace.findings
    assert (found.kind, found.severity, found.line) == ("saved_tensor_mutated", severity, 5)
    assert (
        run_traced(text + "try:\n    kept.sum().backward()\nexcept RuntimeError:\n    pass").error
        is None
    )


def test_an_augmented_write_through_data_gives_no_other_memory() -> None:
    ran = run_traced(
        "x = torch.ones(3)\nw = torch.ones(3, requires_grad=True)\n"
        "y = (w * x).sum()\nx.data *= 10\ny.backward()"
    )
    (found,) = ran.trace.findings
    assert (found.code, found.variable, found.line, found.count) == ("LM205", "x", 4, 1)
    assert "line 4 changes its memory through `.data`" in found.message


def test_other_memory_is_told_as_that() -> None:
    ran = run_traced(
        "x = torch.ones(3)\nw = torch.ones(3, requires_grad=True)\n"
        "y = (w * w).sum()\nw.data = x.data * 10\ny.backward()"
    )
    (found,) = ran.trace.findings
    assert (found.code, found.line) == ("LM205", 4)
    assert "gives `w` other memory" in found.message


def test_the_line_that_saved_is_told_with_its_cell() -> None:
    ns = run_traced("w = torch.ones(3, requires_grad=True)\nz = w.exp()").ns
    (found,) = run_traced("z.data.mul_(3)\nz.sum().backward()", ns).trace.findings
    assert found.code == "LM205"
    assert "ExpBackward0 (line 2 of " in found.message
    assert "; line 1 changes its memory" in found.message

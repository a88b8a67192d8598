"""What the rules for the lives of graphs say, and that it helps when pasted."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import pytest
import torch
from casefiles import cells_of
from caserun import CaseShell
from tracing_kit import check_well, run_traced

from leafmagic.holders import kept_events

STATES = {
    "a list of states": (
        "cells = [torch.nn.RNNCell(2, 2) for _ in range(2)]\n"
        "hs = [torch.zeros(1, 2) for _ in cells]\n"
        "for t in range(3):\n"
        "    inp = torch.ones(1, 2)\n"
        "    new = []\n"
        "    for c, h in zip(cells, hs):\n"
        "        inp = c(inp, h)\n"
        "        new.append(inp)\n"
        "    hs = new\n"
        "    inp.sum().backward()",
        "h = h.detach()",
    ),
    "a tuple of states": (
        "cell = torch.nn.LSTMCell(2, 2)\n"
        "state = (torch.zeros(1, 2), torch.zeros(1, 2))\n"
        "for t in range(3):\n"
        "    state = cell(torch.ones(1, 2), state)\n"
        "    state[0].sum().backward()",
        "state = tuple(part.detach() for part in state)",
    ),
    "an item of a dict": (
        "cell = torch.nn.GRUCell(2, 2)\n"
        "st = {'h': torch.zeros(1, 2)}\n"
        "for t in range(3):\n"
        "    st['h'] = cell(torch.ones(1, 2), st['h'])\n"
        "    st['h'].sum().backward()",
        "st['h'] = st['h'].detach()",
    ),
    "an argument": (
        "cell = torch.nn.GRUCell(2, 2)\n"
        "def step(x, h):\n"
        "    new = cell(x, h)\n"
        "    new.mean().backward()\n"
        "    return new\n"
        "h = torch.zeros(1, 2)\n"
        "for t in range(3):\n"
        "    h = step(torch.ones(1, 2), h)",
        "h = h.detach()",
    ),
}


@pytest.mark.parametrize("name", STATES)
def test_a_state_is_cut_by_what_is_told_where_it_is_told(name: str) -> None:
    cell, cut = STATES[name]
    ran = run_traced(cell)
    (found,) = ran.trace.findings
    assert found.code == "LM531"
    pasted, _, comment = found.fix.partition("  # ")
    assert pasted == cut
    line = int(comment.rpartition(" ")[2])
    lines = cell.split("\n")
    indent = lines[line - 1][: -len(lines[line - 1].lstrip())]
    lines.insert(line - 1, indent + pasted)
    again = run_traced("\n".join(lines))
    check_well(again)
    assert again.found == set()
    assert run_traced(ran.trace.fixed_source()).error is None


EMPTY_STATES = {
    "a pair": ("LSTM", "state", "None", "state = tuple(part.detach() for part in state)"),
    "a tensor": ("GRU", "h", "None", "h = h.detach()"),
}


@pytest.mark.parametrize("name", EMPTY_STATES)
def test_a_state_that_begins_as_none_is_cut_once_at_the_end_of_a_step(name: str) -> None:
    layer, state, begin, cut = EMPTY_STATES[name]
    ran = run_traced(
        f"rnn = torch.nn.{layer}(2, 2)\n"
        f"{state} = {begin}\n"
        "for t in range(3):\n"
        f"    out, {state} = rnn(torch.ones(3, 1, 2), {state})\n"
        "    rnn.zero_grad()\n"
        "    out.sum().backward()\n"
        "    if t:\n"
        "        done = t"
    )
    (found,) = ran.trace.findings
    assert found.code == "LM531"
    assert found.fix == f"{cut}  # at the end of each step, after line 8"
    fixed = ran.trace.fixed_source()
    assert fixed.endswith(f"        done = t\n    {cut}")
    again = run_traced(fixed)
    check_well(again)
    assert again.found == set()


def test_a_number_that_becomes_a_state_is_cut_when_it_is_a_tensor() -> None:
    ran = run_traced(
        "w = torch.ones(2, requires_grad=True)\n"
        "avg = 0.0\n"
        "for t in range(3):\n"
        "    r = w.exp().sum()\n"
        "    avg = 0.9 * avg + 0.1 * r\n"
        "    w.grad = None\n"
        "    (r - avg).backward()"
    )
    assert [found.code for found in ran.trace.findings] == ["LM531"]
    again = run_traced(ran.trace.fixed_source())
    check_well(again)
    assert again.found == set()
    assert not again.ns["avg"].requires_grad


def test_a_loss_that_is_passed_twice_is_told_with_both_passes() -> None:
    ran = run_traced(
        "w = torch.ones(2, requires_grad=True)\n"
        "loss = w.exp().sum()\n"
        "loss.backward()\n"
        "try:\n"
        "    loss.backward()\n"
        "except RuntimeError as error:\n"
        "    said = error.__notes__"
    )
    (found,) = ran.trace.findings
    assert (found.code, found.variable, found.line) == ("LM521", "loss", 5)
    assert "line 3" in found.message
    assert "LM521" in ran.ns["said"][0]


@pytest.mark.parametrize(
    "between",
    ["x.grad = None", "x.grad.zero_()", "torch.optim.SGD([x], 0.1).zero_grad()", "x.grad.fill_(0)"],
)
def test_a_second_pass_after_a_clearing_is_no_mistake(between: str) -> None:
    ran = run_traced(
        f"x = torch.ones(3, requires_grad=True)\ns = x.sum()\ns.backward()\n{between}\ns.backward()"
    )
    check_well(ran)
    assert ran.found == set()
    assert ran.ns["x"].grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("steps", [3, 60, 700])
def test_a_growing_state_is_told_once_with_all_its_steps(steps: int) -> None:
    ran = run_traced(
        "w = torch.ones(1, requires_grad=True)\nh = torch.zeros(1)\n"
        f"for _ in range({steps}):\n"
        "    h = torch.tanh(0.5 * h + w)\n"
        "    w.grad = None\n"
        "    h.sum().backward(retain_graph=True)"
    )
    check_well(ran)
    (found,) = ran.trace.findings
    assert (found.code, found.variable, found.line, found.count) == ("LM532", "h", 4, 1)
    assert f"{steps} steps" in found.message


@pytest.mark.parametrize("steps", [4, 300])
def test_a_sum_counts_its_iterations(steps: int) -> None:
    ran = run_traced(
        "w = torch.ones(2, requires_grad=True)\ntotal = 0\n"
        f"for _ in range({steps}):\n"
        "    loss = (w.exp() ** 2).sum()\n"
        "    loss.backward()\n"
        "    w.grad = None\n"
        "    total = total + loss"
    )
    check_well(ran)
    (found,) = ran.trace.findings
    assert (found.code, found.severity, found.line) == ("LM601", "warning", 7)
    assert f"{steps} iterations" in found.message or f"{steps - 1} iterations" in found.message
    assert found.fix == "total = total + loss.item()"


def test_without_a_pass_a_sum_is_for_information_only() -> None:
    ran = run_traced(
        "w = torch.ones(2, requires_grad=True)\ntotal = 0\n"
        "for k in range(5):\n    total = total + (w * k).sum()"
    )
    assert [found.severity for found in ran.trace.findings] == ["info"]


def test_a_graph_used_up_by_an_untraced_cell_is_told_too() -> None:
    ns = run_traced("w = torch.ones(3, requires_grad=True)\ncost = w.exp().sum()").ns
    ns["cost"].backward()
    ran = run_traced("cost.backward()", ns)
    (found,) = ran.trace.findings
    assert (found.code, found.variable, found.line) == ("LM541", "cost", 2)
    assert found.cell is not None
    assert found.cell in found.fix


CELLS = """
import torch
def train():
    act = torch.ones(1000, requires_grad=True).exp()
    raise RuntimeError("oops")
# %%
train()
# %%
1
# %% rerun 3
"""


def test_a_traceback_is_told_of_once_and_what_is_told_frees_it() -> None:
    held: list[Any] = []
    code = CELLS.replace("    raise", "    ref[:] = [weakref.ref(act)]\n    raise")
    code = code.replace("import torch\n", "import torch, weakref\nref = []\n")
    with CaseShell() as shell:
        ran = shell.run(cells_of(code), then=lambda ns: held.extend(ns["ref"]))
        (found,) = [f.finding for f in ran.found]
        assert (found.code, found.severity) == ("LM604", "info")
        fixed = shell.run(
            cells_of(f"{code}# %%\n{found.fix}\nassert ref[0]() is None"),
        )
    assert fixed.raised == ["RuntimeError"]
    assert held[0]() is None


def test_looking_at_a_traceback_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run_traced(
        "def train():\n"
        "    act = torch.ones(10, requires_grad=True).exp()\n"
        "    raise RuntimeError('oops')\n"
        "train()"
    )
    assert ran.error is not None
    step = ran.error.__traceback__
    while step is not None and step.tb_frame.f_code.co_name != "train":
        step = step.tb_next
    assert step is not None
    (tensor,) = [
        t for t in gc.get_referents(step.tb_frame) if isinstance(t, torch.Tensor) and t.grad_fn
    ]
    gone = weakref.ref(tensor)
    del tensor
    monkeypatch.setattr(sys, "last_traceback", step, raising=False)
    (kept,) = kept_events({}, iter(range(9)).__next__, None, failed=False)
    assert (kept.how, kept.name) == ("traceback", "train")
    step.tb_frame.clear()
    assert gone() is None


def test_what_is_looked_at_is_bounded() -> None:
    w = torch.ones(2, requires_grad=True)
    held = {"many": [w * k for k in range(3000)], "few": [w * 2], "plain": [w] * 9}
    (kept,) = kept_events(held, iter(range(9)).__next__, None, failed=True)
    assert (kept.name, kept.size, len(kept.tids)) == ("many", 2000, 64)

"""Accounts of gradients: kept by groups, the same as if kept for each leaf alone."""

from __future__ import annotations

import random
import site
from typing import Any

import pytest
import torch
from tracing_kit import check_well, run_plain, run_traced

import leafmagic
from leafmagic.accounts import MOST_LEAVES, Shares
from leafmagic.events import Cleared
from leafmagic.gradients import MOST_PENDING
from leafmagic.session import SESSION


def codes(ran: Any) -> list[tuple[str, int]]:
    check_well(ran)
    return [(f.code, f.count) for f in ran.trace.findings if f.severity != "info"]


@pytest.mark.parametrize("seed", range(20))
def test_groups_count_what_each_leaf_would_count_alone(seed: int) -> None:
    choose = random.Random(seed)  # noqa: S311 - no secret
    shares, alone = Shares({}), dict.fromkeys(range(12), 0)
    subsets = [tuple(choose.sample(range(12), choose.randint(1, 12))) for _ in range(6)]
    for _ in range(60):
        tids = choose.choice(subsets)
        accounts = shares.of(tids)
        assert sorted(tid for account in accounts for tid in account.tids) == sorted(tids)
        for account in accounts:
            account.passes += 1
        for tid in tids:
            alone[tid] += 1
    for tid, passes in alone.items():
        account = shares.get(tid)
        assert passes == (0 if account is None else account.passes)
    assert len({id(account) for account in shares}) <= 12


def test_leaves_that_always_come_together_share_one_account() -> None:
    ran = run_traced(
        "net = torch.nn.Sequential(*[torch.nn.Linear(2, 2) for _ in range(8)])\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for _ in range(5):\n"
        "    opt.zero_grad()\n"
        "    net(torch.ones(1, 2)).sum().backward()\n"
        "    opt.step()"
    )
    assert codes(ran) == []
    assert [len(account.tids) for account in ran.trace.model.gradients] == [16]


def test_a_long_loop_is_told_once_with_a_count_and_nothing_grows() -> None:
    ran = run_traced(
        "w = torch.nn.Parameter(torch.ones(2))\n"
        "opt = torch.optim.SGD([w], lr=0.01)\n"
        "for _ in range(400):\n"
        "    (w * 2).sum().backward()\n"
        "    opt.step()"
    )
    assert codes(ran) == [("LM501", 399)]
    ran = run_traced(
        "w = torch.nn.Parameter(torch.ones(2))\n"
        "for _ in range(400):\n"
        "    x = torch.ones(2, requires_grad=True)\n"
        "    (w * x).sum().backward()"
    )
    assert codes(ran) == []
    model = ran.trace.model
    (account,) = [a for a in model.gradients if a.parameter]
    assert account.passes == 400
    assert len(account.pending) <= MOST_PENDING
    assert sum(len(a.tids) for a in model.gradients) < 10 < MOST_LEAVES


@pytest.mark.parametrize("way", ["opt_a.zero_grad(); opt_b.zero_grad()", "clear(opt_a, opt_b)"])
def test_two_clearings_in_a_row_are_two(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from leafmagic.log import EventLog

    heard: list[Any] = []
    note = EventLog.note

    def hear(log: EventLog, event: Any) -> None:
        heard.append(event)
        note(log, event)

    monkeypatch.setattr(EventLog, "note", hear)
    ran = run_traced(
        "def clear(*optimizers):\n"
        "    for one in optimizers:\n"
        "        one.zero_grad()\n"
        "a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)\n"
        "opt_a = torch.optim.SGD(a.parameters(), lr=0.1)\n"
        "opt_b = torch.optim.SGD(b.parameters(), lr=0.1)\n"
        "for _ in range(4):\n"
        "    b(a(torch.ones(1, 2))).sum().backward()\n"
        "    opt_a.step()\n"
        "    opt_b.step()\n"
        f"    {way}"
    )
    assert codes(ran) == []
    assert sum(isinstance(event, Cleared) for event in heard) == 8


LIBRARY = {
    "to None": "for p in ps: p.grad = None",
    "with zeros": "for p in ps: p.grad.zero_()",
    "all at once": "torch._foreach_zero_([p.grad for p in ps])",
}


@pytest.mark.parametrize("way", LIBRARY)
def test_a_library_that_clears_in_its_own_way_is_believed(way: str) -> None:
    space: dict[str, Any] = {"torch": torch}
    text = f"def forget(ps):\n    ps = list(ps)\n    {LIBRARY[way]}"
    exec(compile(text, f"{site.getsitepackages()[0]}/somelib/clearing.py", "exec"), space)
    ran = run_traced(
        "net = torch.nn.Linear(2, 1)\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for _ in range(5):\n"
        "    net(torch.ones(1, 2)).sum().backward()\n"
        "    opt.step()\n"
        "    forget(net.parameters())",
        {"__name__": "__main__", **space},
    )
    assert codes(ran) == []


def test_steps_in_hooks_of_the_pass_are_no_second_use() -> None:
    ran = run_traced(
        "net = torch.nn.Linear(3, 1)\n"
        "opts = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}\n"
        "def hook(p):\n"
        "    opts[p].step()\n"
        "    opts[p].zero_grad()\n"
        "for p in net.parameters():\n"
        "    p.register_post_accumulate_grad_hook(hook)\n"
        "for _ in range(6):\n"
        "    net(torch.randn(2, 3)).sum().backward()"
    )
    assert codes(ran) == []


STEP = "(w * 2).sum().backward()\nopt.step()"


def test_what_an_untraced_cell_did_to_a_gradient_is_not_accounted_for() -> None:
    ns = run_traced(
        "w = torch.nn.Parameter(torch.ones(2))\nopt = torch.optim.SGD([w], lr=0.1)\n" + STEP
    ).ns
    assert codes(run_traced(STEP, ns)) == [("LM501", 1)]
    run_plain("opt.zero_grad()", ns)
    assert codes(run_traced(STEP, ns)) == []
    run_plain("w.grad.zero_()", ns)
    assert codes(run_traced(STEP, ns)) == []
    assert codes(run_traced(STEP, ns)) == [("LM501", 1)]


def test_the_session_forgets_leaves_that_are_gone() -> None:
    ran = run_traced("w = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()")
    assert len(SESSION.gradients) == len(SESSION.filled) == 1
    ran.ns.clear()
    with leafmagic.trace():
        pass
    assert (SESSION.gradients, SESSION.filled, SESSION.snapshots) == ({}, {}, {})


VARYING = {
    "leaves": (
        "ws = [torch.nn.Parameter(torch.ones(2)) for _ in range(3)]\n"
        "opts = [torch.optim.SGD([w], lr=0.1) for w in ws]\n"
        "for _ in range(30):\n"
        "    for w, opt in zip(ws, opts):\n"
        "        (w * 2).sum().backward()\n"
        "        opt.step()\n"
        "        opt.zero_grad()"
    ),
    "modules in a function": (
        "def fit(members):\n"
        "    for _ in range(30):\n"
        "        for net, opt in members:\n"
        "            opt.zero_grad()\n"
        "            net(torch.ones(1, 2)).sum().backward()\n"
        "            opt.step()\n"
        "def member():\n"
        "    net = torch.nn.Linear(2, 1)\n"
        "    return net, torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "fit([member() for _ in range(3)])"
    ),
    "one net after another": (
        "def fit():\n"
        "    net = torch.nn.Linear(2, 1)\n"
        "    opt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "    for _ in range(9):\n"
        "        opt.zero_grad()\n"
        "        net(torch.ones(1, 2)).sum().backward()\n"
        "        opt.step()\n"
        "for _ in range(5):\n"
        "    fit()"
    ),
}


@pytest.mark.parametrize("what", VARYING)
def test_leaves_that_vary_at_one_line_are_not_mixed_up(what: str) -> None:
    assert codes(run_traced(VARYING[what])) == []


def test_an_input_made_anew_in_each_step_does_not_hide_the_weights() -> None:
    ran = run_traced(
        "w = torch.nn.Parameter(torch.ones(2))\n"
        "opt = torch.optim.SGD([w], lr=0.01)\n"
        "for _ in range(50):\n"
        "    x = torch.ones(2, requires_grad=True)\n"
        "    (w * x).sum().backward()\n"
        "    opt.step()"
    )
    assert codes(ran) == [("LM501", 49)]

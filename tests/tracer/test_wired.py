"""What modules and optimizers hold when a trace ends, and that looking does no harm."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from tracing_kit import run_traced

from leafmagic.findings import Findings
from leafmagic.looks import Wired

NET = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
        self.more = [torch.nn.Linear(2, 2)]
        self.plain = torch.zeros(2, requires_grad=True)
    def forward(self, x):
        return self.more[0](self.lin(x)) + self.plain
"""


def wired(cell: str, monkeypatch: Any) -> tuple[Wired, Any]:
    seen: list[Wired] = []
    feed = Findings.feed

    def listen(self: Findings, event: Any) -> Any:
        if isinstance(event, Wired):
            seen.append(event)
        return feed(self, event)

    monkeypatch.setattr(Findings, "feed", listen)
    ran = run_traced(cell)
    assert ran.error is None
    assert ran.notes == []
    assert len(seen) == 1
    return seen[0], ran


def test_what_a_module_holds_and_who_has_it(monkeypatch: Any) -> None:
    cell = (
        f"{NET}net = Net()\nopt = torch.optim.SGD(net.lin.parameters(), lr=0.1)\n"
        "net(torch.ones(1, 2)).sum().backward()\nopt.step()"
    )
    event, ran = wired(cell, monkeypatch)
    held = {one.path: one for one in event.held}
    assert set(held) == {
        "net.lin.weight",
        "net.lin.bias",
        "net.more[0].weight",
        "net.more[0].bias",
        "net.plain",
    }
    assert [path for path, one in held.items() if one.registered] == [
        "net.lin.weight",
        "net.lin.bias",
    ]
    assert {path for path, one in held.items() if one.optimizers} == {
        "net.lin.weight",
        "net.lin.bias",
    }
    assert all(one.filled and one.is_leaf and one.root == "net" for one in held.values())
    (optimizer,) = event.optimizers
    assert (optimizer.path, optimizer.name, optimizer.size, optimizer.stale) == ("opt", "SGD", 2, 0)
    assert optimizer.optimizer == id(ran.ns["opt"])
    assert [(one.path, one.name) for one in event.modules] == [("net", "Net")]


def test_what_only_the_optimizer_holds_is_stale(monkeypatch: Any) -> None:
    cell = (
        "net = torch.nn.Sequential(torch.nn.Linear(2, 2))\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nnet[0] = torch.nn.Linear(2, 1)"
    )
    event, _ = wired(cell, monkeypatch)
    assert [(one.size, one.stale) for one in event.optimizers] == [(2, 2)]


def test_modules_and_optimizers_of_an_object_of_the_users(monkeypatch: Any) -> None:
    cell = (
        "class Trainer:\n    def __init__(self):\n        self.net = torch.nn.Linear(2, 1)\n"
        "        self.opt = torch.optim.SGD(self.net.parameters(), lr=0.1)\nt = Trainer()"
    )
    event, _ = wired(cell, monkeypatch)
    assert [one.path for one in event.held] == ["t.net.weight", "t.net.bias"]
    assert [(one.path, one.stale) for one in event.optimizers] == [("t.opt", 0)]


def test_objects_that_answer_oddly_are_left_alone(monkeypatch: Any) -> None:
    cell = (
        "class Odd:\n    def __getattribute__(self, name):\n        raise RuntimeError(name)\n"
        "class Slim:\n    __slots__ = ()\n    def __init__(self): pass\n"
        "odd, slim, many = Odd(), Slim(), [Odd()]\nw = torch.ones(1, requires_grad=True)"
    )
    event, _ = wired(cell, monkeypatch)
    assert event.held == ()


def test_nothing_is_kept_by_what_was_seen() -> None:
    cell = (
        f"{NET}net = Net()\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n"
        "for _ in range(3):\n    opt.zero_grad()\n"
        "    net(torch.ones(1, 2)).sum().backward()\n    opt.step()"
    )
    ran = run_traced(cell)
    assert ran.trace.findings
    kept = [weakref.ref(ran.ns["net"]), weakref.ref(ran.ns["opt"])]
    kept += [weakref.ref(p) for p in ran.ns["net"].parameters()]
    ran.ns.clear()
    gc.collect()
    assert [ref() for ref in kept] == [None] * len(kept)


def test_a_rule_sees_each_step_and_takes_no_more_room() -> None:
    from leafmagic.findings.reaching import reaching

    cell = (
        "w = torch.ones(2, requires_grad=True)\nopt = torch.optim.SGD([w], lr=0.1)\n"
        "for _ in range(50):\n    opt.zero_grad()\n    (w ** 2).sum().backward()\n    opt.step()"
    )
    ran = run_traced(cell)
    known = reaching(ran.trace.model)
    (steps,) = known.steps.values()
    assert (len(steps.had), len(steps.idle), len(known.filled)) == (1, 0, 1)
    assert len(known.asked) + len(known.sinks) == 0

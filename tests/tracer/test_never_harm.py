"""Whatever breaks inside leafmagic, the user's code goes on, with the right results."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tracing_kit import Ran, assert_same, break_everywhere, run_plain, run_traced

CELL = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 2)
    def forward(self, x):
        return self.l(x).relu()
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
w = torch.ones(3, requires_grad=True)
for step in range(3):
    h = w * 2
    h.retain_grad()
    h.register_hook(lambda g: g * 2)
    loss = net(h).sum() + (w ** 2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
    v = h.grad
y = w * 3
y[0] = 1
y.data.mul_(2)
g, = torch.autograd.grad(y.sum(), w)
d = y.detach()
try:
    torch.ones(2) @ torch.ones(3)
except RuntimeError as error:
    said = str(error)
i = loss.item()
z = w
z = w + 1
m = z.grad
"""
BROKEN = [
    ("tensor", "Ledger"),
    ("node", "Ledger"),
    ("repeated", "Ledger"),
    ("take", "Ledger"),
    ("live", "Ledger"),
    ("feed", "Model"),
    ("repeated", "Slots"),
    ("bind", "NameBook"),
    ("feed", "Findings"),
    ("start", "NameWatch"),
    ("arrive", "NameWatch"),
    ("finish", "NameWatch"),
    ("find", "Sites"),
    ("place", "Sites"),
    ("whose", "Sites"),
    ("statements", "Sites"),
    ("emit", "EventLog"),
    ("take", "EventLog"),
    ("repeats", "EventLog"),
    ("replace", "EventLog"),
    ("next_ordinal", "EventLog"),
    ("drain", "Tracer"),
    ("grad_norms", ""),
    ("preview", ""),
    ("locate", ""),
    ("statements_of", ""),
    ("classify", ""),
    ("flatten", ""),
    ("version_of", ""),
    ("hook_count", ""),
    ("can_be_read", ""),
    ("owned_events", ""),
    ("root_module", ""),
    ("stray_attributes", "NameWatch"),
    ("forget_dead", ""),
    ("best_name", ""),
    ("OpCalled", ""),
    ("Accessed", ""),
    ("WriteAttempted", ""),
    ("BackwardCalled", ""),
    ("BackwardReturned", ""),
    ("PassRepeated", ""),
    ("Raised", ""),
    ("Bound", ""),
    ("Written", ""),
    ("StateRead", ""),
    ("measured", "Trends"),
    ("passed", "Trends"),
    ("add", "Readout"),
    ("fetch", "Readout"),
    ("take", "Drift"),
    ("read", "Drift"),
    ("is_due", "Meter"),
    ("flush", "Meter"),
    ("loops_around", ""),
    ("GradientsMeasured", ""),
]


def run_broken(monkeypatch: pytest.MonkeyPatch, name: str, owner: str) -> Ran:
    import leafmagic.tracing  # noqa: F401

    assert break_everywhere(monkeypatch, name, owner), f"there is no {owner}.{name}"
    return run_traced(CELL, {"torch": torch, "__name__": "__main__"}, retain=("h",))


@pytest.mark.parametrize(("name", "owner"), BROKEN)
def test_users_code_goes_on(monkeypatch: pytest.MonkeyPatch, name: str, owner: str) -> None:
    plain = run_plain(CELL)
    assert plain.error is None
    ran = run_broken(monkeypatch, name, owner)
    if ran.error is not None:
        raise ran.error
    assert not ran.trace.running
    assert torch._C._len_torch_function_stack() == 0
    monkeypatch.undo()
    for hidden in (ran, plain):
        hidden.ns.pop("error", None)
    notes = ran.notes
    ran.trace = type("Quiet", (), {"document": lambda self: {"status": {"notes": []}}})()
    assert_same(plain, ran)
    for note in notes:
        assert note.count("\n") == 0
        assert len(note) < 300
    assert len(notes) <= 1 + len(rules())


@pytest.mark.parametrize(
    ("name", "owner"),
    [
        b
        for b in BROKEN
        if b[0]
        not in (
            "repeated",
            "repeat",
            "replace",
            "root_module",
            "forget_dead",
            "best_name",
            "hook_count",
            "PassRepeated",
            "Written",
            "statements_of",
            "flatten",
            "version_of",
        )
    ],
)
def test_a_note_says_so(monkeypatch: pytest.MonkeyPatch, name: str, owner: str) -> None:
    ran = run_broken(monkeypatch, name, owner)
    monkeypatch.undo()
    notes = ran.notes
    assert notes
    assert "leafmagic" in notes[0]


@pytest.mark.parametrize(
    "broken", [("build_graph", ""), ("state_of", ""), ("ordered", "Findings"), ("training_of", "")]
)
def test_a_document_that_cannot_be_built(
    monkeypatch: pytest.MonkeyPatch, broken: tuple[str, str]
) -> None:
    """Who shows the trace asks for its document; there must be one, with a note."""
    ran = run_broken(monkeypatch, *broken)
    assert ran.error is None
    document = ran.trace.document()
    assert document["status"]["notes"]
    assert isinstance(document["nodes"], list)


def rules() -> list[Any]:
    from leafmagic.findings import RULES

    return list(RULES)


@pytest.mark.parametrize("code", [rule.code for rule in rules()])
def test_a_rule_that_raises_costs_only_itself(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    rule = next(rule for rule in rules() if rule.code == code)

    def broken(self: Any, event: Any, model: Any) -> Any:
        raise ZeroDivisionError("broken rule")

    text = """
w = torch.ones(3, requires_grad=True)
try:
    w += 1
except RuntimeError:
    pass
h = w * 2
h.sum().backward()
a = h.grad
h.retain_grad()
b = h.grad
x = torch.ones(2, requires_grad=True).reshape(2, 1)
c = x.grad
w = w - 0.1 * w.grad
try:
    x.requires_grad()
except TypeError:
    pass
k = w * 2
z = torch.zeros(2, requires_grad=True)
s = z.sqrt()
s.data.mul_(2)
s.sum().backward()
act = torch.nn.ReLU(inplace=True)
act.register_forward_hook(lambda module, given, out: given[0].sum())
act(torch.ones(2))
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
held = []
for _ in range(8):
    loss = net(torch.ones(1, 2)).sum()
    loss.backward()
    opt.step()
    held.append(loss)
with torch.no_grad():
    net.weight.copy_(net.weight * 2)
"""
    whole = run_traced(text)
    monkeypatch.setattr(rule, "check", broken)
    ran = run_traced(text)
    assert ran.error is None
    assert ran.notes
    left = {f for f in whole.found if f[0] != rule.kind}
    assert left <= ran.found
    assert ran.node("k").state in ("constant", "frozen leaf", "non-leaf")


def test_recording_that_broke_once_stays_off(monkeypatch: pytest.MonkeyPatch) -> None:
    import leafmagic

    with leafmagic.trace() as trace:
        a = torch.ones(2, requires_grad=True) * 2
        with monkeypatch.context() as patch:
            break_everywhere(patch, "tensor", "Ledger")
            b = a * torch.ones(2)
        before = trace.revision
        c = b * 2
        c.sum().backward()
    assert torch.equal(c, torch.full((2,), 4.0))
    assert trace.revision <= before + 200
    assert trace.document()["status"]["notes"]
    with leafmagic.trace() as again:
        _ = a * 2
    assert again.document()["status"]["notes"] == []

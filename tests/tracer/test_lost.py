"""What reached the loss when a cell last ran: told where it does not now, and only there."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._dynamo  # It patches torch when the first optimizer is made.

import leafmagic

FIRST = "import torch\nw = torch.ones(3, requires_grad=True)\nv = torch.ones(3, requires_grad=True)"
CELL = """w.grad = v.grad = None
h = w * 2
g = h.relu()
loss = (g * v).sum()
loss.backward()
"""
CUT = CELL.replace("g * v", "g.detach() * v")


@pytest.fixture
def run(shell: Any) -> Callable[..., list[Any]]:
    """Run a traced cell; return what was said of what the last run had."""
    shell.extension_manager.load_extension("leafmagic")
    shell.run_cell("%autograd on --mode off")
    shell.run_cell(FIRST)

    def run(text: str, cell: str | None = None, *, fails: bool = False) -> list[Any]:
        result = shell.run_cell(text, store_history=True, cell_id=cell)
        assert result.success != fails
        trace = leafmagic.last()
        assert trace is not None
        assert trace.document()["status"]["notes"] == []
        return [f for f in trace.findings if f.code == "LM404"]

    return run


def test_it_is_told_once_with_the_old_line(run: Any) -> None:
    assert run(CELL) == []
    (found,) = run(CUT)
    assert (found.severity, found.variable, found.line) == ("info", "g", 4)
    assert found.message.startswith("`g` and 2 more no longer reach `loss`")
    assert "Cell In[1]" in found.message
    assert found.fix == "loss = (g * v).sum()"
    assert run(CUT) == []
    assert run(CELL) == []


LONGER = f"a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\n{CUT}"


def test_the_cell_is_known_by_its_id_whatever_its_text(run: Any) -> None:
    assert run(CELL, "one") == []
    (found,) = run(LONGER, "one")
    assert (found.variable, found.line) == ("g", 10)


def test_without_an_id_it_is_the_cell_most_alike_if_any(run: Any) -> None:
    assert run(CELL) == []
    assert run(LONGER) == []
    assert run(CELL) == []
    assert len(run(CUT)) == 1


def test_another_cell_like_it_is_another_cell(run: Any) -> None:
    assert run(CELL, "one") == []
    assert run(CUT, "two") == []
    assert run(CUT, "one") != []


CHANGED = {
    "an assignment of its own": ("loss =", "g = g.detach()\nloss =", 4, "delete line 4"),
    "data": ("h = w * 2", "h = w.data * 2", 2, "h = w * 2"),
    "a number": ("h = w * 2", "h = v * w.sum().item()", 2, "h = w * 2"),
    "under no_grad": ("h = w * 2", "with torch.no_grad(): h = w * 2", 2, "h = w * 2"),
    "a block": ("h = w * 2", "with torch.no_grad():\n    h = w * 2", 2, "take line 3 out of"),
    "an integer": ("h.relu()", "h.relu().int()", 3, "g = h.relu()"),
    "in the call": ("g * v", "v * (h.detach().relu())", 4, "loss = (g * v).sum()"),
}


@pytest.mark.parametrize("case", CHANGED)
def test_the_line_that_cuts_is_named(run: Any, case: str) -> None:
    old, new, line, fix = CHANGED[case]
    assert run(CELL) == []
    text = CELL.replace(old, new)
    (found,) = run(text)
    assert found.line == line
    assert found.fix.startswith(fix)
    assert found.variable in ("w", "h", "g")


def test_a_leaf_without_its_flag(run: Any) -> None:
    cell = "p = torch.ones(3, requires_grad=True)\nq = v * p + v\nloss = q.sum()\nloss.backward()"
    assert run(cell, "c") == []
    (found,) = run(cell.replace(", requires_grad=True", ""), "c")
    assert (found.variable, found.line) == ("p", 1)
    assert found.fix == "p = torch.ones(3, requires_grad=True)"


FREEZE = {
    "by the method": "w.requires_grad_(False)",
    "by the flag": "w.requires_grad = False",
    "where it is made": "w = torch.ones(3, requires_grad=False)",
    "as a module": "net[0].requires_grad_(False)",
    "one by one": "for p in net[0].parameters():\n    p.requires_grad = False",
    "after a mistake": "net[0].requires_grad_(False)",
    "for an evaluation": "net.eval()\nwith torch.no_grad():\n    loss = net(x).sum()\n    loss.item()",
}


@pytest.mark.parametrize("case", FREEZE)
def test_what_is_frozen_on_purpose_is_not_lost(run: Any, case: str) -> None:
    run("net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))")
    cell = "x = torch.ones(2, 3) * v\nloss = (net(x) * w.exp()).sum()\nloss.backward()"
    before = "net[0].requires_grad = False\n" if case == "after a mistake" else ""
    assert run(before + cell, "c") == []
    again = f"{FREEZE[case]}\n{cell}"
    if case == "for an evaluation":
        again = f"{cell}\n{FREEZE[case]}"
    assert run(again, "c") == []


def test_a_block_of_several_lines_is_never_half_a_fix(run: Any) -> None:
    cell = CELL.replace("loss = (g * v).sum()", "loss = torch.dot(\n    g,\n    v,\n)")
    assert run(cell) == []
    (found,) = run(cell.replace("    g,", "    g.detach(),"))
    assert found.line == 5
    assert "detach" not in found.fix
    compile(found.fix, "fix", "exec")


QUIET = {
    "not used any more": CELL.replace("g * v", "v * 3"),
    "a comment": CELL + "# nothing",
    "another way to the loss": CUT.replace(".sum()", ".sum() + g.mean()"),
    "only a part is detached": CELL.replace("loss =", "shown = g.detach()\nloss ="),
    "another value of that name": CELL.replace("h = w * 2", "h = torch.full((3,), 2.0)"),
    "nothing is trained": CUT.replace("loss.backward()", "print(loss)"),
}


@pytest.mark.parametrize("case", QUIET)
def test_it_stays_quiet(run: Any, case: str) -> None:
    assert run(CELL, "c") == []
    assert run(QUIET[case], "c") == []


def test_a_name_that_is_gone_is_not_told_of(run: Any) -> None:
    assert run(CELL, "c") == []
    (found,) = run("loss = (v * (w.detach() * 2).relu()).sum()\nloss.backward()", "c")
    assert found.message.startswith("`w` no longer reaches `loss`")
    assert "`h`" not in found.message
    assert "`g`" not in found.message


def test_the_only_loss_may_have_another_name(run: Any) -> None:
    assert run(CELL, "c") == []
    (found,) = run(CUT.replace("loss", "cost"), "c")
    assert found.variable == "g"


def test_one_of_two_losses(run: Any) -> None:
    cell = f"{CELL}other = (w + v).sum()\nother.backward()\n"
    assert run(cell, "c") == []
    (found,) = run(cell.replace("w + v", "w.detach() + v"), "c")
    assert found.message.startswith("`w` no longer reaches `other`")
    assert found.line == 6


def test_what_another_warning_explains_is_not_told_again(run: Any) -> None:
    assert run(CELL) == []
    assert run(CUT + "print(w.grad.sum())", fails=True) == []
    assert "LM403" in {f.code for f in leafmagic.last().findings}  # type: ignore[union-attr]
    run(CELL)
    assert run(CELL.replace("(g * v)", "(g.detach() * 2)"), fails=True) == []
    run(CELL)
    assert run(CELL.replace("h = w * 2", "h = torch.tensor(w * 2)")) == []
    assert "LM401" in {f.code for f in leafmagic.last().findings}  # type: ignore[union-attr]


def test_a_run_that_failed_is_not_the_last_one(run: Any) -> None:
    assert run(CELL, "c") == []
    run("h = w * 2\n1 / 0", "c", fails=True)
    assert len(run(CUT, "c")) == 1


def test_a_trace_that_is_no_cell_has_no_last_run() -> None:
    w, v = (torch.ones(3, requires_grad=True) for _ in range(2))
    for cut in (False, True):
        with leafmagic.trace() as t:
            h = w * 2
            loss = ((h.detach() if cut else h) * v).sum()
            loss.backward()
        assert [f.code for f in t.findings if f.code == "LM404"] == []
    assert leafmagic_session().flows == {}


def leafmagic_session() -> Any:
    return sys.modules["leafmagic.session"].SESSION


def test_only_names_are_kept_and_not_of_more_cells_than_that(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leafmagic.session.MOST_FLOWS", 3)
    for index in range(6):
        run(f"{CELL}# {index}", f"cell {index}")
    flows = leafmagic_session().flows
    assert list(flows) == [("cell 3", ""), ("cell 4", ""), ("cell 5", "")]
    for flow, text in flows.values():
        assert isinstance(text, str)
        (loss,) = flow.losses
        assert loss == ("loss", frozenset("ghwv"), frozenset("wv"), True)


@pytest.mark.parametrize("step", ["opt.step()", "pass"])
def test_leaves_that_a_pass_within_the_pass_fills_are_not_lost(run: Any, step: str) -> None:
    cell = f"""from torch.utils.checkpoint import checkpoint
net = torch.nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
opt.zero_grad()
h = checkpoint(net, w * 2, use_reentrant=False)
loss = (h * h).sum()
loss.backward()
{step}
"""
    assert run(cell) == []
    again = cell.replace("net = torch.nn.Linear(3, 3)\n", "").replace("False", "True")
    assert run(again) == []
    assert run(again.replace("True", "False")) == []
    found = run(again.replace("True", "False").replace("h * h", "h.detach() * w"))
    trace = leafmagic.last()
    assert trace is not None
    # Where an optimizer waits for them another rule tells of the same line.
    assert {f.line for f in trace.findings} == {5}
    assert bool(found) == (step == "pass")

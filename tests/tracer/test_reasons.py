"""Why ``.grad`` is None: each answer, and torch's own word that it is true."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tracing_kit import run_traced

import leafmagic
import leafmagic.reasons
import leafmagic.recording

ANSWERS: dict[str, tuple[str, str, str, str]] = {
    # cell, expression, what is said, what torch confirms
    "it has one": (
        "x = torch.ones(2, requires_grad=True)\nx.sum().backward()",
        "x",
        "`x`.grad is not None: it holds a gradient of shape [2].",
        "x.grad is not None",
    ),
    "no leaf": (
        "x = torch.ones(2, requires_grad=True)\nh = x * 2\nh.sum().backward()",
        "h",
        "`h` is not a leaf: it was computed by MulBackward0 (line 2: x * 2)",
        "not h.is_leaf and not h.retains_grad and x.grad is not None",
    ),
    "written to since": (
        "u = torch.ones(3, requires_grad=True)\ne = torch.exp(u)\ne += 1\ne.sum()",
        "e",
        "`e` is not a leaf: it was computed by AddBackward0 (line 3: e += 1), and backward",
        "not e.is_leaf and e.grad_fn.name() == 'AddBackward0'",
    ),
    "written to by a method": (
        "u = torch.ones(3, requires_grad=True)\nk = u * 2\nk.mul_(3)",
        "k",
        "`k` is not a leaf: it was computed by MulBackward0 (line 3: k.mul_(3)), and backward",
        "not k.is_leaf and k.grad_fn.next_functions[0][0].name() == 'MulBackward0'",
    ),
    "its elements were set": (
        "u = torch.ones(3, requires_grad=True)\nr = torch.zeros(3)\nr[0] = u[0]\nr[1] = u[1]",
        "r",
        "`r` is not a leaf: it was computed by CopySlices (line 4: r[1] = u[1]), and backward",
        "not r.is_leaf and r.grad_fn.name() == 'torch::autograd::CopySlices'",
    ),
    "a view of it was written to": (
        "u = torch.ones(3, requires_grad=True)\nb = u * 2\nv = b[:2]\nv.mul_(3)",
        "b",
        "`b` is not a leaf: it was computed by CopySlices (line 4: v.mul_(3)), and backward",
        "not b.is_leaf and b.grad_fn.name() == 'torch::autograd::CopySlices'",
    ),
    "a converted copy": (
        "x = torch.ones(2, requires_grad=True)\ny = x.double()\ny.sum().backward()",
        "y",
        "`y` is a converted copy of `x` (line 2: x.double()), and not a leaf: the gradient is in",
        "not y.is_leaf and x.grad is not None",
    ),
    "retained too late": (
        "x = torch.ones(2, requires_grad=True)\nh = x * 2\nh.sum().backward()\nh.retain_grad()",
        "h",
        "retain_grad() was called on `h` after the last traced backward",
        "h.retains_grad and h.grad is None",
    ),
    "retained, and backward raised": (
        "x = torch.ones(2, requires_grad=True)\nh = x.exp()\nh.retain_grad()\nh2 = h * h\n"
        "h.detach().add_(1)\ntry:\n    h2.sum().backward()\nexcept RuntimeError:\n    pass",
        "h",
        "The last traced backward at line 7 raised before it could fill `h`.grad.",
        "h.retains_grad and h.grad is None",
    ),
    "no backward yet": (
        "x = torch.ones(2, requires_grad=True)\nloss = x.sum()",
        "x",
        "`x` is a leaf that requires grad, but backward has not run yet in this trace.",
        "x.is_leaf and loss.requires_grad",
    ),
    "detached on the way": (
        "x = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "h = (x * 2).detach()\nloss = (h * b).sum()\nloss.backward()",
        "x",
        "The last traced backward (line 5) did not reach `x`: `(x * 2).detach()` at line 3 cuts "
        "the graph",
        "b.grad is not None and not h.requires_grad",
    ),
    "under no_grad on the way": (
        "x = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "with torch.no_grad():\n    h = x * 2\nloss = (h * b).sum()\nloss.backward()",
        "x",
        "`h` was computed at line 4 under the `torch.no_grad()` of line 3, without a graph.",
        "b.grad is not None and not h.requires_grad",
    ),
    "a number on the way": (
        "x = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "scale = x.norm().item()\nloss = (b * scale).sum()\nloss.backward()",
        "x",
        "`x.norm().item()` at line 3 makes a plain number, which autograd does not follow.",
        "b.grad is not None and isinstance(scale, float)",
    ),
    "copied on the way": (
        "x = torch.ones((), requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "h = torch.tensor([x, x])\nloss = (b * h).sum()\nloss.backward()",
        "x",
        "`torch.tensor([x, x])` at line 3 copies the numbers of `x`; the copy has no history.",
        "b.grad is not None and not h.requires_grad",
    ),
    "not used for the loss": (
        "x = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "loss = b.sum()\nloss.backward()",
        "x",
        "The last traced backward (line 4) did not reach `x`: `loss` was not computed from it. "
        "It was computed from `b`.",
        "b.grad is not None",
    ),
    "used for something else": (
        "x = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "prior = x * 3\nloss = b.sum()\nloss.backward()",
        "x",
        "it is used for `prior` only, which is no part of `loss`.",
        "b.grad is not None and prior.requires_grad",
    ),
    "made after it": (
        "b = torch.ones(2, requires_grad=True)\nb.sum().backward()\n"
        "x = torch.ones(2, requires_grad=True)",
        "x",
        "The last traced backward (line 2) did not reach `x`: it was made after it, at line 3.",
        "x.is_leaf and b.grad is not None",
    ),
    "cleared by zero_grad": (
        "net = torch.nn.Linear(2, 1)\nnet(torch.ones(1, 2)).sum().backward()\nnet.zero_grad()",
        "net.weight",
        "`net.weight`.grad was cleared by zero_grad() at line 3, after the last traced backward.",
        "net.weight.grad is None",
    ),
    "set to None": (
        "x = torch.ones(2, requires_grad=True)\nx.sum().backward()\nx.grad = None",
        "x",
        "`x`.grad was set to None at line 3, after the last traced backward.",
        "x.is_leaf",
    ),
    "backward raised": (
        "x = torch.ones(2, requires_grad=True)\nloss = x * 2\n"
        "try:\n    loss.backward()\nexcept RuntimeError:\n    pass",
        "x",
        "The last traced backward at line 4 raised before it could fill `x`.grad.",
        "x.is_leaf and loss.numel() == 2",
    ),
    "autograd.grad": (
        "x = torch.ones(2, requires_grad=True)\ng, = torch.autograd.grad(x.sum(), x)",
        "x",
        "Gradients were computed with autograd.grad (line 2), which returns them",
        "g is not None",
    ),
    "left out by inputs": (
        "x = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\n"
        "loss = (x * b).sum()\nloss.backward(inputs=[b])",
        "x",
        "The graph of the last traced backward (line 4) leads to `x`: its gradient was cleared since, or",
        "b.grad is not None",
    ),
    "a phantom": (
        "w = torch.ones(4, requires_grad=True)\nwith torch.no_grad():\n    x = w.view(2, 2)\n"
        "x.sum().backward()",
        "x",
        "`x` is a view taken under no_grad",
        "x.is_leaf and x.requires_grad and w.grad is None",
    ),
    "frozen at a line": (
        "x = torch.ones(2, requires_grad=True)\nx.requires_grad_(False)",
        "x",
        "`x` was frozen at line 2: its requires_grad is False.",
        "not x.requires_grad",
    ),
    "a frozen parameter": (
        "net = torch.nn.Linear(2, 1).requires_grad_(False)\nnet(torch.ones(1, 2))",
        "net.weight",
        "`net.weight` was frozen at line 1: its requires_grad is False.",
        "not net.weight.requires_grad",
    ),
    "does not require grad": (
        "x = torch.ones(2)",
        "x",
        "`x` does not require grad (line 1: torch.ones(2)). Call requires_grad_() on it",
        "x.is_leaf",
    ),
    "computed without grad": (
        "x = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    h = x * 2",
        "h",
        "`h` was computed without grad: `h` was computed at line 3 under the `torch.no_grad()` "
        "of line 2",
        "not h.requires_grad and h.grad_fn is None",
    ),
    "integers": (
        "x = torch.ones(2, 2, requires_grad=True)\ni = x.argmax()",
        "i",
        "`i` is int64 (line 2: x.argmax()): only floating point and complex tensors",
        "i.dtype is torch.int64",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", ANSWERS)
def test_the_answer_is_given_and_true(title: str) -> None:
    cell, expression, said, confirmed = ANSWERS[title]
    ran = run_traced(cell)
    assert ran.error is None
    tensor = eval(expression, ran.ns)
    answer = leafmagic.why(tensor, ran.trace, expression)
    assert said in answer
    assert eval(confirmed, ran.ns), "torch does not agree"
    assert title == "it has one" or tensor.grad is None
    assert len(answer) < 400


def test_a_trace_from_a_file_is_no_help_and_no_harm(tmp_path: Any) -> None:
    ran = run_traced("x = torch.ones(2, requires_grad=True)\nh = x * 2")
    ran.trace.save(str(tmp_path / "kept.json"))
    kept = leafmagic.load(str(tmp_path / "kept.json"))
    assert "nothing was traced that tells whether a backward has reached it" in leafmagic.why(
        ran.ns["x"], kept, "x"
    )
    assert "`h` is not a leaf" in leafmagic.why(ran.ns["h"], kept, "h")


def test_a_cell_is_asked_in_a_shell(shell: Any, run_cell: Any, capsys: Any) -> None:
    shell.extension_manager.load_extension("leafmagic")
    run_cell(
        "import torch\nnet = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))"
    )
    run_cell(
        "%%autograd --mode off\n"
        "with torch.no_grad():\n"
        "    h = net[0](torch.ones(1, 2))\n"
        "loss = net[1](h).sum()\n"
        "loss.backward()"
    )
    capsys.readouterr()
    run_cell("%autograd why net[0].weight")
    told = capsys.readouterr().out
    assert "The last traced backward (line 5) did not reach `net[0].weight`" in told
    assert "under the `torch.no_grad()` of line 2" in told
    run_cell("%autograd why net[1].weight")
    assert "is not None" in capsys.readouterr().out


BACKWARD = "w = torch.ones(2, requires_grad=True)\nh = w * 2\nh.sum().backward()\n"


def test_without_a_trace_it_looks_into_the_newest() -> None:
    ran = run_traced(BACKWARD + "w.grad = None")
    assert leafmagic.last() is ran.trace
    assert leafmagic.why(ran.ns["w"]) == leafmagic.why(ran.ns["w"], ran.trace)
    assert "set to None at line 4, after the last traced backward" in leafmagic.why(ran.ns["w"])
    assert "(line 2: w * 2)" in leafmagic.why(ran.ns["h"])


def test_code_that_is_traced_itself_asks_about_the_trace_before() -> None:
    first = run_traced(BACKWARD + "w.grad = None")
    asks = "import leafmagic\nsaid = leafmagic.why(w), leafmagic.why(h)"
    ran = run_traced(asks, first.ns)
    assert ran.error is None
    assert "set to None at line 4, after the last traced backward" in ran.ns["said"][0]
    assert "(line 2: w * 2)" in ran.ns["said"][1]
    assert [ran.trace] == leafmagic.recording.NEWEST


def test_a_trace_that_runs_tells_of_its_own_passes() -> None:
    first = run_traced(BACKWARD + "w.grad = None")
    own = "import leafmagic\n(w * 3).sum().backward()\nw.grad = None\nsaid = leafmagic.why(w)"
    ran = run_traced(own, first.ns)
    assert "set to None at line 3" in ran.ns["said"]


def test_what_ran_untraced_is_not_denied(shell: Any, run_cell: Any, capsys: Any) -> None:
    shell.extension_manager.load_extension("leafmagic")
    run_cell(
        "import torch\na = torch.ones(2, requires_grad=True)\nb = torch.ones(2, requires_grad=True)"
    )
    run_cell("%%autograd --mode off\n(a * 2).sum().backward()")
    run_cell("(b * 2).sum().backward()\nassert b.grad is not None\nb.grad = None")
    capsys.readouterr()
    run_cell("%autograd why b")
    assert "The last traced backward (line 2) did not reach `b`" in capsys.readouterr().out


def test_code_that_asks_while_it_is_traced_needs_no_such_word() -> None:
    ran = run_traced(
        "import leafmagic\na = torch.ones(2, requires_grad=True)\n"
        "b = torch.ones(2, requires_grad=True)\n(a * 2).sum().backward()\nsaid = leafmagic.why(b)"
    )
    assert ran.ns["said"].startswith("The last backward (line 4) did not reach this tensor")


def test_the_session_knows_what_the_newest_trace_did_not_see() -> None:
    first = run_traced(BACKWARD + "del h")
    second = run_traced("k = torch.ones(2)", first.ns)
    first.ns["w"].grad = None
    said = leafmagic.why(second.ns["w"])
    assert said.startswith("A backward (line 3 of Cell In[")
    assert "its .grad was cleared since" in said
    first = run_traced(BACKWARD)
    run_traced("k = torch.ones(2)", first.ns)
    assert "(line 2 of Cell In[" in leafmagic.why(first.ns["h"])


def test_a_write_of_an_earlier_trace_is_told_with_its_line() -> None:
    ns = run_traced("u = torch.ones(3, requires_grad=True)\ne = torch.exp(u)").ns
    second = run_traced("x = 1\n\ne += x", ns)
    third = run_traced("f = e * 2", ns)
    assert "(line 3: e += x)" in leafmagic.why(ns["e"], second.trace, "e")
    assert "by AddBackward0 (line 3 of " in leafmagic.why(ns["e"], third.trace, "e")
    assert ": e += x)" in leafmagic.why(ns["e"], third.trace, "e")
    fourth = run_traced("g = f * 2", ns)
    assert "by MulBackward0 (line 1 of " in leafmagic.why(ns["f"], fourth.trace, "f")


def test_with_no_trace_at_all_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leafmagic.reasons, "NEWEST", [])
    said = leafmagic.why(torch.ones(2, requires_grad=True))
    assert "no backward has reached" not in said
    assert "nothing was traced" in said

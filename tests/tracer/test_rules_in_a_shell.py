"""Rules that read the source, in cells of a real shell."""

from __future__ import annotations

from typing import Any

import pytest

DEFINED = """import torch
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        x, sq = ctx.saved_tensors
        return g * sq * 3 + 0 * x"""

USED = """%%autograd --mode off
x = torch.tensor(2., requires_grad=True)
g, = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
print(torch.autograd.grad(g, x)[0])"""


@pytest.fixture
def ip(shell: Any) -> Any:
    shell.extension_manager.load_extension("leafmagic")
    return shell


def last() -> Any:
    import leafmagic

    return leafmagic.last()


def test_lines_are_those_of_the_cell(ip: Any, run_cell: Any) -> None:
    run_cell("import torch as th; from torch import no_grad as off")
    run_cell("%%autograd --mode off\n!true\nw = th.ones(2)\noff()\nx = 1")
    (found,) = last().findings
    assert (found.kind, found.line, found.symptom_line) == ("grad_mode", 4, 5)
    assert (found.cell, found.source) == ("Cell In[2]", "off()")
    assert (found.column, found.end_column) == (0, 5)


def test_a_function_of_an_earlier_cell(ip: Any, run_cell: Any) -> None:
    run_cell(DEFINED)
    run_cell(USED)
    (found,) = last().findings
    assert (found.kind, found.variable) == ("custom_function", "sq")
    assert (found.cell, found.line, found.symptom_line) == ("Cell In[1]", 5, 5)
    run_cell("%%autograd --mode off\nx.sum()")
    assert last().findings == ()


def test_strict_fails_the_cell_of_a_mode_thrown_away(ip: Any, run_cell: Any) -> None:
    run_cell("%%autograd --mode off --strict\nimport torch\ntorch.no_grad()", fails=True)
    run_cell("%%autograd --mode off --strict --ignore LM701\ntorch.no_grad()")
    run_cell("%%autograd --mode off --strict\n%time torch.no_grad().__class__\nx = 1")


def test_a_cell_traced_by_on_and_one_that_is_timed(ip: Any, run_cell: Any) -> None:
    run_cell("%autograd on --mode off")
    run_cell("import torch\ntorch.no_grad()")
    (found,) = last().findings
    assert (found.line, found.cell) == (2, "Cell In[2]")
    run_cell("%%time\nx = 1\ntorch.no_grad()")
    (found,) = last().findings
    assert found.line == 2
    run_cell("%autograd off")


def test_an_inference_tensor_of_an_earlier_cell(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell("import torch\nwith torch.inference_mode():\n    f = torch.ones(2)")
    run_cell("%%autograd --mode off\nw = torch.ones(2, requires_grad=True)\ny = w * f", fails=True)
    (found,) = last().findings
    assert (found.code, found.variable, found.line) == ("LM703", "f", 3)
    assert "`f` was made in inference mode, and `mul` has to save it" in capsys.readouterr().out


@pytest.mark.parametrize("switch", ["th.set_grad_enabled(False)", "th.no_grad().__enter__()"])
def test_grad_mode_that_an_earlier_cell_left_off(ip: Any, run_cell: Any, switch: str) -> None:
    run_cell("import torch as th, torch\nw = th.ones(2, requires_grad=True)")
    run_cell(f"%%autograd --mode off\n!true\n{switch.replace('th.no', 'torch.no')}")
    try:
        run_cell("%%autograd --mode off\nloss = (w * 2).sum()\nloss.backward()", fails=True)
    finally:
        run_cell("th.set_grad_enabled(True)")
    (found,) = last().findings
    assert (found.code, found.severity, found.variable) == ("LM705", "error", "loss")
    assert (found.cell, found.line, found.symptom_line) == ("Cell In[2]", 3, 3)
    assert "since line 3 of Cell In[2]" in found.message
    assert last().fixed_source().splitlines()[1] == "torch.set_grad_enabled(True)"


def test_grad_mode_that_was_off_before_any_trace(ip: Any, run_cell: Any) -> None:
    run_cell("import torch\nw = torch.ones(2, requires_grad=True)\ntorch.set_grad_enabled(False)")
    try:
        run_cell("%%autograd --mode off\nh = w * 2\nh.sum()")
        (found,) = last().findings
        assert (found.code, found.severity, found.variable) == ("LM705", "info", "h")
        assert "off already when this cell began" in found.message
        run_cell("%%autograd --mode off\nk = w * 3")
        assert last().findings == ()  # once is enough
        run_cell("torch.set_grad_enabled(True)")
        run_cell("%%autograd --mode off\n(w * 3).sum().backward()")
        assert last().findings == ()
        run_cell("torch.set_grad_enabled(False)")
        run_cell("%%autograd --mode off\nk = w * 3")
        assert [found.code for found in last().findings] == ["LM705"]
    finally:
        run_cell("torch.set_grad_enabled(True)")


def test_a_block_around_a_trace_is_no_mode_left_off(ip: Any, run_cell: Any) -> None:
    run_cell("import torch, leafmagic\nw = torch.ones(2, requires_grad=True)")
    run_cell("with torch.no_grad():\n    with leafmagic.trace() as t:\n        h = w * 2")
    run_cell("assert t.findings == ()")
    run_cell("%%autograd --mode off\nh = w * 2\nh.sum().backward()")
    assert last().findings == ()

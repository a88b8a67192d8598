"""What a line magic runs is told in the words that were typed."""

from __future__ import annotations

from typing import Any

import pytest

W = "w = torch.ones(3, requires_grad=True)\n"
CELLS = {
    "leaf behind %time": (
        "%time x = torch.arange(6., requires_grad=True).reshape(2, 3)\nx.sum().backward()\ng = x.grad",
        "hidden_leaf", "x", 1, "x = torch.arange(6.).reshape(2, 3).requires_grad_()",
        "%time x = torch.arange(6., requires_grad=True).reshape(2, 3)"),
    "value of %time": (
        f"{W}h = %time w * 2\nh.sum().backward()\ng = h.grad",
        "nonleaf_grad_read", "h", 2, "h.retain_grad()  # before backward, after line 2", "h = %time w * 2"),
    "computed under %time": (
        f"{W}%time h = w * 2\nh.sum().backward()\ng = h.grad",
        "nonleaf_grad_read", "h", 2, "h.retain_grad()  # before backward, after line 2", "%time h = w * 2"),
    "write under %time": (
        f"{W}%time w += 1", "leaf_inplace", "w", 2, "with torch.no_grad(): w += 1", "%time w += 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", CELLS)
def test_a_finding_speaks_in_the_typed_words(shell: Any, case: str) -> None:
    cell, kind, variable, line, fix, source = CELLS[case]
    shell.extension_manager.load_extension("leafmagic")
    shell.run_cell("import torch\n%config LeafMagic.mode = 'off'")
    shell.run_line_magic("autograd", "on --into t")
    shell.run_cell(cell)
    (finding,) = shell.user_ns["t"].findings
    assert (finding.kind, finding.variable, finding.line) == (kind, variable, line)
    assert (finding.fix, finding.source) == (fix, source)
    assert "get_ipython" not in finding.explanation()
    # The text that was compiled is not the one that was typed.
    assert finding.edits == ()


def test_what_does_not_parse_is_told_by_its_line_alone(shell: Any) -> None:
    shell.extension_manager.load_extension("leafmagic")
    shell.run_cell("import torch\n%config LeafMagic.mode = 'off'")
    shell.run_line_magic("autograd", "on --into t")
    shell.run_cell(f"{W}%timeit -n1 -r1 w.add_(1)")
    (finding,) = shell.user_ns["t"].findings
    assert (finding.kind, finding.line) == ("leaf_inplace", 2)
    assert finding.source == "%timeit -n1 -r1 w.add_(1)"
    assert "get_ipython" not in finding.explanation()

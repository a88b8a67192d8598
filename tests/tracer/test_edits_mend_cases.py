"""Edits, applied to whole cells: each kind of mistake is mended by `Trace.fixed_source`."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from casefiles import HAZARD, Case, Cell, load
from caserun import CaseShell, Ran

import leafmagic
from leafmagic.findings import KINDS

CASES = {case.id: case for case in load()}
MENDED = {
    "backward_contract": ("bc-01", "bc-02"),
    "carried_state": (
        "cs-01",
        "cs-01~chunks",
        "cs-01~kept",
        "cs-01~mean",
        "cs-02~attribute",
        "cs-02~chunks",
        "cs-02~none",
        "cs-04",
    ),
    "custom_function": ("cf-03",),
    "degenerate_grad": ("dg-03", "dg-05"),
    "grad_accumulation": ("ga-03",),
    "grad_mode": ("gm-01~function", "gm-03~raises"),
    "graph_cut": ("gc-02", "gc-06", "gc-07~classes", "gc-13"),
    "graph_freed": ("gf-01", "gf-04"),
    "hidden_leaf": ("hl-01",),
    "hook_surprise": ("hk-01", "hk-07"),
    "leaf_inplace": ("li-01",),
    "leaf_rebound": ("lr-02",),
    "memory_retention": ("mr-01",),
    "nonleaf_copy": ("dc-01", "dc-02"),
    "nonleaf_grad_read": ("nlg-04~logits",),
    "notebook_stale_state": ("nb-01", "nb-03"),
    "parallel_compile": ("pc-02",),
    "param_wiring": ("pw-01", "pw-03", "pw-04", "pw-07", "pw-07~again", "pw-07~projected"),
    "requires_grad_flag": ("rf-02",),
    "retain_grad_misuse": ("rg-02",),
    "saved_tensor_mutated": ("st-06",),
    "unreached_param": ("up-04", "up-04~optimizer"),
    "untracked_write": ("uw-02",),
    "view_inplace_forbidden": ("vi-01", "vi-06"),
}
"""Cases by their kind, each with a check of what was meant."""

WITHOUT: dict[str, str] = {}
"""Kinds of which no fix is a change of the text, and why."""


class Fixing:
    """Runs a case and takes the text of each cell as its own trace would mend it."""

    def __init__(self, shell: CaseShell, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shell, self.monkeypatch = shell, monkeypatch

    def fixed(self, case: Case) -> tuple[Cell, ...]:
        """Return the cells of a case after `Trace.fixed_source` for its kind."""
        texts: dict[int, str] = {}
        run_cell = self.shell._run_cell

        def run_and_mend(cell: Cell, ran: Ran, numbers: list[int]) -> None:
            run_cell(cell, ran, numbers)
            trace = leafmagic.last()
            # What another cell is to change is in no edit of this one's.
            if trace is not None and any(_is_here(f, case, numbers) for f in trace.findings):
                texts[cell.number] = trace.fixed_source(case.kind)

        with self.monkeypatch.context() as patch:
            patch.setattr(self.shell, "_run_cell", run_and_mend)
            self.shell.run(case.cells)
        assert texts, f"nothing of {case.id} has edits for its own cell"
        return tuple(
            dataclasses.replace(cell, source=texts.get(cell.number, cell.source))
            for cell in case.cells
        )


def _is_here(finding: Any, case: Case, numbers: list[int]) -> bool:
    """Tell whether a finding of the case's kind is mended in the cell that ran last."""
    cells = {edit.cell for edit in finding.edits}
    return finding.kind == case.kind and cells == {f"Cell In[{len(numbers)}]"}


@pytest.mark.parametrize("name", [name for names in MENDED.values() for name in names])
def test_the_fixed_source_does_what_was_meant(
    name: str, case_shell: CaseShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    assert case.check
    cells = Fixing(case_shell, monkeypatch).fixed(case)
    again = case_shell.run(cells, case.check)
    assert again.notes == []
    assert again.raised == []
    assert [found for found in again.found if found.finding.kind == case.kind] == []
    assert again.alarms == []


def test_every_kind_is_mended_in_some_case_or_has_a_reason() -> None:
    assert {kind: {CASES[one].kind for one in names} for kind, names in MENDED.items()} == {
        kind: {kind} for kind in MENDED
    }
    assert set(MENDED) | set(WITHOUT) == set(KINDS)
    assert set(MENDED) & set(WITHOUT) == set()
    assert HAZARD not in KINDS


@pytest.mark.parametrize("name", [name for names in MENDED.values() for name in names])
def test_unmended_it_raises_or_is_not_what_was_meant(name: str, case_shell: CaseShell) -> None:
    """A check that holds for the mistake as well would prove nothing."""
    case = CASES[name]
    assert case_shell.run(case.cells).raised or not holds(case, case_shell)


def holds(case: Case, shell: CaseShell) -> bool:
    """Tell whether the check of a case holds for its code as it is."""
    try:
        shell.run(case.cells, case.check)
    except (AssertionError, AttributeError, NameError, TypeError):
        return False
    return True

"""Every rule's page: it has its sections, its failing cell is found, its fixed cell is quiet."""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import Any

import pytest
import torch
from casefiles import cells_of
from caserun import CaseShell
from tracing_kit import run_traced

from leafmagic.findings import RULES, Rule

_ONE_OF_EACH = pytest.mark.parametrize("rule", RULES, ids=[rule.code for rule in RULES])


def section(rule: type[Rule], title: str) -> str:
    """Return the code under a title of a rule's page."""
    text = inspect.getdoc(rule) or ""
    found = re.search(rf"^{title}::\n\n((?:    .*\n|\n)+)", text, re.MULTILINE)
    assert found, f"{rule.code} has no section {title!r}"
    return textwrap.dedent(found.group(1)).strip("\n")


@_ONE_OF_EACH
def test_the_page_says_what_and_why_and_where_to_read_on(rule: type[Rule]) -> None:
    text = inspect.getdoc(rule) or ""
    title, blank, why = text.split("\n", 2)
    assert title.endswith(".")
    assert len(title) < 100
    assert blank == ""
    assert len(why.partition("Failing cell::")[0].split()) > 10
    assert re.search(r"\nReferences\n-+\nhttps://\S+$", text)


def run(text: str) -> tuple[list[Any], list[str], list[str]]:
    """Run what a page shows; return findings, leafmagic's notes, and errors by their names.

    Several cells, between ``# %%`` lines, run in a shell.
    """
    cells = cells_of(text)
    if len(cells) > 1:
        with CaseShell() as shell:
            ran = shell.run(cells)
        return [found.finding for found in ran.found], ran.notes, ran.raised
    try:
        one = run_traced(text)
    finally:
        torch.set_grad_enabled(True)
    return list(one.trace.findings), one.notes, [repr(one.error)] * (one.error is not None)


@_ONE_OF_EACH
def test_the_failing_cell_is_found(rule: type[Rule]) -> None:
    findings, notes, _ = run(section(rule, "Failing cell"))
    assert notes == []
    assert {found.code for found in findings} == {rule.code}
    assert all(found.fix and found.line for found in findings)


@_ONE_OF_EACH
def test_the_fixed_cell_is_quiet(rule: type[Rule]) -> None:
    assert run(section(rule, "Fixed")) == ([], [], [])


def test_the_codes_of_a_kind_are_of_one_hundred() -> None:
    hundreds: dict[str, set[str]] = {}
    for rule in RULES:
        assert re.fullmatch(r"LM\d{3}", rule.code)
        hundreds.setdefault(rule.kind, set()).add(rule.code[:3])
    assert {kind: len(found) for kind, found in hundreds.items()} == dict.fromkeys(hundreds, 1)

"""A finding's edits as a small diff: which lines go, which come, and what in them differs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from leafmagic.edits import Edit, apply

Row = tuple[str, int | None, str, str, str]
"""The sign, the number of a line that was there, and before, in and after what differs."""

_MOST = 16
_WORD = re.compile(r"\w")


def fix_diff(finding: Mapping[str, Any], cell: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a finding's edits change, or None where it has none that can be shown.

    Parameters
    ----------
    finding : mapping
        As a trace saves it.
    cell : mapping
        The trace's ``cell``; the lines of edits that do not carry them are looked up there.

    Returns
    -------
    dict
        ``rows``: of each the sign, the line number, and the line in three parts, the
        second of which differs. ``copy``: the new lines. ``cell``: where they are, if it
        is not the traced cell. ``says_fix``: whether the rows say all that ``fix`` says.
    """
    edits = [Edit.from_dict(edit) for edit in finding.get("edits") or ()]
    rows: list[Row] = []
    for group in _groups(edits, cell):
        made = _rows(group)
        if made is None:
            return None
        rows += made
    if not rows:
        return None
    new = [before + marked + after for sign, _, before, marked, after in rows if sign == "+"]
    code = str(finding.get("fix") or "").partition("  #")[0]
    there = "".join("".join(new).split())
    home = edits[0].cell
    return {
        "rows": [list(row) for row in rows[:_MOST]],
        "more": max(len(rows) - _MOST, 0),
        "copy": "\n".join(new),
        "cell": home if home != cell.get("label") else "",
        "says_fix": "".join(code.split()) in there,
    }


def _groups(edits: Sequence[Edit], cell: Mapping[str, Any]) -> Iterator[list[Edit]]:
    """Yield the edits of lines that touch, each with its source."""
    group: list[Edit] = []
    text = str(cell.get("source") or "").replace("\r\n", "\n").split("\n")
    for edit in sorted(edits, key=lambda e: (e.cell, e.line, e.end_line)):
        known = edit
        if not edit.source and edit.cell == cell.get("label"):
            source = "\n".join(text[edit.line - 1 : edit.end_line])
            known = Edit.from_dict({**edit.to_dict(), "source": source})
        last = max((e.end_line for e in group), default=0)
        if group and (known.cell != group[0].cell or known.line > last + 1):
            yield group
            group = []
        group.append(known)
    if group:
        yield group


def _rows(group: list[Edit]) -> list[Row] | None:
    """Return the rows of edits whose lines touch; None where their lines are not known."""
    lines: dict[int, str] = {}
    for edit in group:
        known = edit.source.split("\n")
        if len(known) != edit.end_line - edit.line + 1:
            return None
        lines |= dict(enumerate(known, edit.line))
    first = min(lines)
    old = [lines[number] for number in sorted(lines)]
    moved = [
        Edit("", e.line - first + 1, e.column, e.end_line - first + 1, e.end_column, e.replacement)
        for e in group
    ]
    try:
        new = apply("\n".join(old), moved).split("\n")
    except ValueError:
        return None
    rows: list[Row] = []
    for what, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            rows += [(" ", first + at, old[at], "", "") for at in range(a, b)]
            continue
        paired = b - a == d - c
        marks = [_differs(old[a + n], new[c + n]) if paired else None for n in range(b - a)]
        for n in range(a, b):
            rows.append(("-", first + n, *_marked(old[n], marks[n - a], new[c:d])))
        for n in range(c, d):
            mark = marks[n - c] if paired else None
            rows.append(("+", None, *_marked(new[n], mark, old[a:b])))
    return rows


def _differs(old: str, new: str) -> tuple[int, int]:
    """Return how much of two lines is alike, at the beginning and at the end, in whole words."""
    least = min(len(old), len(new))
    head = next((n for n in range(least) if old[n] != new[n]), least)
    while head and _WORD.match(old[head - 1]) and _splits(old, new, head):
        head -= 1
    tail = next((n for n in range(least - head) if old[-1 - n] != new[-1 - n]), least - head)
    while tail and _WORD.match(old[-tail]) and _splits(old, new, -tail):
        tail -= 1
    return head, tail


def _splits(old: str, new: str, at: int) -> bool:
    """Tell whether a cut would be inside of a word of either line."""
    if at > 0:
        return any(_WORD.match(line[at : at + 1]) for line in (old, new))
    return any(len(line) + at > 0 and _WORD.match(line[at - 1]) for line in (old, new))


def _marked(line: str, mark: tuple[int, int] | None, others: list[str]) -> tuple[str, str, str]:
    """Cut a line before, in and after what differs from the other side."""
    if mark is not None:
        head, tail = mark
        end = len(line) - tail
        return line[:head], line[head:end], line[end:]
    if line.strip() in {other.strip() for other in others}:
        return line, "", ""  # Only its indent differs.
    indent = len(line) - len(line.lstrip())
    return line[:indent], line[indent:], ""

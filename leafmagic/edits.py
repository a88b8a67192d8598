"""Fixes as plain data: what to replace where in a cell's text, and how to apply it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_ENDING = re.compile("\r\n|\n")


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement in the text of a cell. A range of no width is an insertion.

    Attributes
    ----------
    cell : str
        The cell or file, as `Finding.cell` names it.
    line, end_line : int
        1-based, as the notebook counts them: under ``%%autograd`` the magic's own line
        is line 1.
    column, end_column : int
        0-based, in characters; the end is the first that is not replaced.
    replacement : str
        What comes in their place. Lines end in a line feed here, whatever the cell's do.
    source : str
        The lines from `line` to `end_line` as they were. Where a text has other lines
        there, the edit is not applied. Empty if they are not known.
    """

    cell: str
    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, one key for each attribute."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Edit:
        """Rebuild an edit; unknown keys are ignored."""
        known = {f.name for f in dataclasses.fields(cls)}
        return cls(**{k: v for k, v in values.items() if k in known})


@dataclass(frozen=True, slots=True)
class Mended:
    """A text with edits applied.

    Attributes
    ----------
    text : str
        The text.
    refused : dict
        By the index of a group of edits, why it was not applied.
    """

    text: str
    refused: dict[int, str]


_Piece = tuple[int, int, str]
"""First and last offset in a text, and what comes between them."""


def mend(text: str, cell: str, groups: Sequence[Sequence[Edit]]) -> Mended:
    """Apply groups of edits to the text of a cell; a group is applied whole or not at all.

    Parameters
    ----------
    text : str
        Its line endings stay as they are.
    cell : str
        The name of the cell; edits of others are refused.
    groups : sequence of sequence of Edit
        Where two overlap, the first one is applied.
    """
    taken: list[_Piece] = []
    refused: dict[int, str] = {}
    for index, group in enumerate(groups):
        elsewhere = [edit.cell for edit in group if edit.cell != cell]
        if not group:
            refused[index] = "no edit"
            continue
        if elsewhere:
            refused[index] = f"to be edited in {elsewhere[0]}"
            continue
        if group in groups[:index]:  # Of two variables, perhaps.
            same = groups.index(group)
            refused |= {index: refused[same]} if same in refused else {}
            continue
        pieces = [_piece(text, edit) for edit in group]
        # What two add is added once; but what both indent is indented twice.
        new = [p for p in pieces if p is not None and (p not in taken or not p[2].strip())]
        if None in pieces:
            refused[index] = "the line is not what ran"
        elif any(_overlap(one, other) for one in new for other in taken):
            refused[index] = "overlaps another fix"
        else:
            taken += new
    return Mended(_splice(text, taken), refused)


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with all edits applied, whichever cell they name.

    Raises
    ------
    ValueError
        If one is not in the text, or two overlap.
    """
    pieces: list[_Piece] = []
    for edit in edits:
        piece = _piece(text, edit)
        if piece is None:
            raise ValueError(f"line {edit.line} is not what the edit was made for")
        if any(_overlap(piece, other) for other in pieces):
            raise ValueError(f"two edits overlap in line {edit.line}")
        pieces.append(piece)
    return _splice(text, pieces)


def _overlap(one: _Piece, other: _Piece) -> bool:
    if one[0] == one[1] or other[0] == other[1]:
        # An insertion is in the way only inside of what is replaced.
        return one[0] < other[1] and other[0] < one[1]
    return max(one[0], other[0]) < min(one[1], other[1])


def _splice(text: str, pieces: Iterable[_Piece]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(pieces, key=lambda piece: piece[:2]):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _piece(text: str, edit: Edit) -> _Piece | None:
    """Return where an edit is in a text; None where its lines are not there."""
    starts = [0, *(match.end() for match in _ENDING.finditer(text))]
    lines = _ENDING.split(text)
    if not 0 < edit.line <= edit.end_line <= len(lines):
        return None
    pad = _pad(lines[edit.line - 1 : edit.end_line], edit.source)
    if pad is None:
        return None
    start = starts[edit.line - 1] + len(pad) + edit.column
    end = starts[edit.end_line - 1] + len(pad) + edit.end_column
    inside = edit.column + len(pad) <= len(lines[edit.line - 1])
    if not inside or edit.end_column + len(pad) > len(lines[edit.end_line - 1]) or end < start:
        return None
    ending = "\r\n" if "\r\n" in text else "\n"
    return start, end, edit.replacement.replace("\n", "\n" + pad).replace("\n", ending)


def _pad(lines: list[str], source: str) -> str | None:
    """Return what indents the lines beyond what ran: IPython takes a common indent away."""
    if not source:
        return ""
    known = source.split("\n")
    if len(known) != len(lines):
        return None
    pad = lines[0][: max(len(lines[0]) - len(known[0]), 0)]
    same = all(
        line == pad + was or line.strip() == was == ""
        for line, was in zip(lines, known, strict=True)
    )
    return pad if same and not pad.strip() else None

"""What IPython knows about the text of the cell that is running."""

from __future__ import annotations

import linecache
from typing import Any

from leafmagic.cell import CellSource

_TIMED = "<timed exec>"
"""The file name that ``%%time`` gives the code below it, from line 1 on."""
MEASURING = ("%%timeit", "%%prun")
"""Cell magics whose numbers would be those of the trace, too."""


def describe_traced(raw: str, first: str, number: int, filename: str | None) -> CellSource:
    """Describe the cell whose line 1 is the call that began the trace.

    Parameters
    ----------
    raw : str
        What was typed; the traced part may begin further down.
    first : str
        The ``%%autograd`` line.
    number : int
        ``n`` of ``In[n]``.
    filename : str or None
        ``co_filename`` of the code that called.
    """
    typed = _from_line(raw, first)
    below = _below_time(typed, 1)
    if below:
        return CellSource(f"Cell In[{number}] {_TIMED}", below, _TIMED)
    lines = linecache.getlines(filename) if filename else []
    text = "".join([first + "\n", *lines[1:]]) if lines else typed or first
    if typed and (not lines or len(typed.splitlines()) == len(lines)):
        text = typed
    inside = f" {filename}" if filename and not lines else ""
    return CellSource(f"Cell In[{number}]{inside}", text, filename)


def measures(raw: str) -> bool:
    """Tell whether a cell is there to measure the code in it."""
    return raw.split(maxsplit=1)[:1] in [[magic] for magic in MEASURING]


def only_asks(raw: str) -> bool:
    """Tell whether a cell has nothing but lines such as ``%autograd report``."""
    lines = [line.split(maxsplit=1) for line in raw.splitlines() if line.strip()]
    words = [line[0] for line in lines if not line[0].startswith("#")]
    return bool(words) and {*words} <= {"%autograd", "%leafmagic"}


def describe_whole(shell: Any, info: Any, number: int) -> CellSource:
    """Describe a cell that is about to run; it is not compiled yet."""
    raw = info.raw_cell
    cooked = getattr(info, "transformed_cell", None) or shell.transform_cell(raw)
    text = raw[len(raw) - len(raw.lstrip("\n")) :] if raw.lstrip("\n") else raw
    below = _below_time(text, 0)
    if below:
        return CellSource(f"Cell In[{number}] {_TIMED}", below, _TIMED)
    if len(text.splitlines()) != len(cooked.splitlines()):
        text = cooked
    filename = shell.compile.get_code_name(raw, cooked, number)
    return CellSource(f"Cell In[{number}]", text, filename)


def label_of(shell: Any, filename: str) -> str | None:
    """Return what a traceback calls a cell, such as ``"Cell In[3]"``; None for a real file."""
    found = shell.compile.format_code_name(filename)
    return " ".join(found) if found else None


def lend_lines(shell: Any, source: CellSource) -> tuple[str, Any] | None:
    """Give code that ``%%time`` runs its lines, so that its expressions can be found.

    Returns the file name under which `linecache` has them now and the entry, or None.
    """
    name = source.filename
    if name is None or not name.startswith("<") or linecache.getlines(name):
        return None
    # Not what was typed: a line magic is no expression.
    lines = shell.transform_cell(source.text).splitlines(keepends=True)
    entry = linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    return name, entry


def _from_line(raw: str, first: str) -> str:
    """Return a text from the line that reads `first` on; empty if there is none."""
    lines = raw.splitlines(keepends=True)
    for index, text in enumerate(lines):
        if text.split() == first.split():
            return "".join(lines[index:])
    return ""


def _below_time(text: str, index: int) -> str:
    lines = text.splitlines(keepends=True)
    timed = len(lines) > index + 1 and lines[index].split()[:1] == ["%%time"]
    return "".join(lines[index + 1 :]) if timed else ""

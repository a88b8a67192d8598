"""Numbers for places in the code, cheap enough to look up at every op."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType, TracebackType

from leafmagic.cell import (
    CellSource,
    Place,
    default_label,
    is_user_file,
    locate,
    source_of,
)
from leafmagic.statements import Statement, statements_of

CALLER_NAME = "<leafmagic call>"
"""The name of a frame in which a recorder calls torch, in a traceback."""
_OURS = frozenset(
    str(Path(__file__).with_name(name)) for name in ("recorder.py", "accesses.py", "callers.py")
)
NOWHERE = 0
LIBRARY, USER, THIN, OPTIMIZER = range(4)
"""Whose code it is: a library's, the user's, a Python function of torch that only passes
its arguments on, or an optimizer's."""

_THIN_FILES = (
    "torch/_tensor.py",
    "torch/overrides.py",
    "torch/functional.py",
    "torch/nn/functional.py",
    "torch/nn/init.py",
    "torch/_jit_internal.py",
    "torch/autograd/__init__.py",
)


class Sites:
    """Every place at which the user's code called torch, numbered.

    Parameters
    ----------
    cells : list of CellSource
        Known cells; their text is read from here rather than from disk.
    label : callable or None
        From a ``co_filename`` to what the reader calls that cell or file.
    """

    def __init__(
        self, cells: list[CellSource], label: Callable[[str], str | None] | None = None
    ) -> None:
        self._label = label
        self._known = {cell.filename: cell for cell in cells if cell.filename}
        # Code objects are kept, or their ids could be used again. They hold constants
        # and names, never tensors.
        self.codes: dict[int, tuple[CodeType, int]] = {}
        self.libraries: set[int] = set()
        """The ids of the code objects of libraries among them."""
        self.numbers: dict[tuple[int, int], int] = {}
        self._spots: list[tuple[CodeType, int] | None] = [None]
        self._places: dict[int, Place | None] = {NOWHERE: None}
        self.statement: list[int] = [-1]
        """Index of the statement a site lies in; -1 inside functions."""
        self._tops: dict[str, tuple[Statement, ...]] = {}
        self._between: dict[tuple[str, int, int], tuple[Statement, ...]] = {}

    def find(self, frame: FrameType | None) -> tuple[int, bool, FrameType | None]:
        """Climb from a frame to the user's own code.

        Returns
        -------
        site : int
        direct : bool
            Whether only torch's thin Python wrappers lay in between.
        frame : FrameType or None
            The user's frame.
        """
        if frame is not None:
            # Nearly always the user's own frame called, from a place that is known.
            found = self.numbers.get((id(frame.f_code), frame.f_lasti))
            if found is not None:
                return found, True, frame
        direct = True
        codes, libraries = self.codes, self.libraries
        while frame is not None:
            code = frame.f_code
            if id(code) in libraries:  # most of the way, where modules call one another
                direct = False
                frame = frame.f_back
                continue
            known = codes.get(id(code))
            if known is None:
                known = self._judge(code)
            kind = known[1]
            if kind == USER:
                key = (id(code), frame.f_lasti)
                number = self.numbers.get(key)
                if number is None:
                    number = self._number(code, frame.f_lasti, key)
                return number, direct, frame
            if kind != THIN:
                direct = False
            frame = frame.f_back
        return NOWHERE, False, None

    def whose(self, code: CodeType) -> int:
        """Return whose a code object is: `LIBRARY`, `USER`, `THIN` or `OPTIMIZER`."""
        known = self.codes.get(id(code)) or self._judge(code)
        return known[1]

    def _judge(self, code: CodeType) -> tuple[CodeType, int]:
        filename = code.co_filename
        if code.co_name == CALLER_NAME or filename in _OURS:
            # Another trace's recorder, which passes the call on.
            kind = THIN
        elif filename in self._known or is_user_file(filename):
            kind = USER
        elif (path := filename.replace("\\", "/")).endswith(_THIN_FILES):
            kind = THIN
        elif "/torch/optim/" in path:
            kind = OPTIMIZER
        else:
            kind = LIBRARY
        if kind in (LIBRARY, OPTIMIZER):
            self.libraries.add(id(code))
        known = self.codes[id(code)] = (code, kind)
        return known

    def _number(self, code: CodeType, lasti: int, key: tuple[int, int]) -> int:
        number = len(self._spots)
        self._spots.append((code, lasti))
        self.numbers[key] = number
        statement = -1
        if code.co_name == "<module>":
            line = next((p[0] for i, p in enumerate(code.co_positions()) if i == lasti // 2), None)
            statement = self.statement_at(code.co_filename, line or code.co_firstlineno)
        self.statement.append(statement)
        return number

    def number(self, code: CodeType, lasti: int) -> int:
        """Return the site of an instruction, for errors that torch did not raise."""
        if self.whose(code) != USER:
            return NOWHERE
        key = (id(code), lasti)
        known = self.numbers.get(key)
        return self._number(code, lasti, key) if known is None else known

    def innermost(self, step: TracebackType | None) -> int:
        """Return the innermost place of the user's own code in a traceback."""
        site = NOWHERE
        while step is not None:
            site = self.number(step.tb_frame.f_code, step.tb_lasti) or site
            step = step.tb_next
        return site

    def place(self, site: int) -> Place | None:
        """Return what the reader calls a site; None for `NOWHERE`."""
        if site not in self._places:
            spot = self._spots[site]
            self._places[site] = None if spot is None else locate(*spot, self.label)
        return self._places[site]

    def label(self, filename: str) -> str:
        """Return what the reader calls a file."""
        cell = self._known.get(filename)
        if cell is not None:
            return cell.label
        found = self._label(filename) if self._label is not None else None
        return found or default_label(filename)

    def text(self, filename: str) -> str:
        """Return the source of a cell or file; empty where it cannot be had."""
        text = source_of(filename)
        if text:
            return text
        cell = self._known.get(filename)
        return "" if cell is None else cell.text

    def statements(self, filename: str) -> tuple[Statement, ...]:
        """Return the statements at the top of a file."""
        if filename not in self._tops:
            self._tops[filename] = statements_of(self.text(filename))
        return self._tops[filename]

    def statement_at(self, filename: str, line: int) -> int:
        """Return the index of the innermost statement at a line; -1 where there is none."""
        starts = [s.line for s in self.statements(filename)]
        return bisect_right(starts, line) - 1

    def between(self, filename: str, last: int, now: int) -> tuple[Statement, ...]:
        """Return the binding statements that may have run on the way from one to another.

        A step backwards is a loop: all of its body may have run, the statement that
        is about to run included (its own names are those of the round before).
        """
        key = (filename, last, now)
        found = self._between.get(key)
        if found is None:
            every = self.statements(filename)
            low, high = (last, now) if last < now else (now, last + 1)
            found = tuple(s for s in every[max(low, 0) : high] if s.names)
            self._between[key] = found
        return found

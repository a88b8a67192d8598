"""Read the case files under ``tests/cases``; their form is told in the README there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
PENDING = FOLDER / "pending.txt"
HAZARD = "tool_hazard"
KEYS = ("title", "kind", "variable", "says", "fix", "torch", "source", "note", "quiet", "raises")
SECTIONS = ("code", "fixed", "check")

_KEY = re.compile(r"# (\w+): (.*)")
_MORE = re.compile(r"#  +(\S.*)")
_MARK = re.compile(r"\s+#!(?P<words>.*)$")
_CELL = re.compile(r"# %%(?: rerun (?P<number>\d+))?\s*$")


class BadCaseError(ValueError):
    """A case file that is not in the form that the README describes."""


@dataclass(frozen=True)
class Cell:
    """A cell of a case.

    Attributes
    ----------
    number : int
        1-based, counted in the file; a rerun has the number of the cell it repeats.
    source : str
        Its text, without marks.
    first_line : int
        1-based line of its first line in the whole code, separators counted.
    """

    number: int
    source: str
    first_line: int


@dataclass(frozen=True)
class Spot:
    """A line of a cell: both 1-based."""

    cell: int
    line: int


@dataclass(frozen=True)
class Case:
    """One case file.

    Attributes
    ----------
    cells : tuple of Cell
        In the order in which they run, reruns included.
    cause, symptom : Spot or None
        The marked lines, as the line of a cell.
    cause_line, symptom_line : int or None
        The same, as lines of the whole code.
    fixed : tuple of Cell
        The code as it should be; empty if the file does not tell.
    check : str
        Assertions for the namespace that the fixed code leaves.
    raises : str or None
        The name of the exception that ends a cell; empty if none does, None if the
        file does not tell.
    """

    id: str
    kind: str
    title: str
    path: Path
    code: str
    cells: tuple[Cell, ...]
    variable: str = ""
    says: str = ""
    fix: str = ""
    torch: str = ""
    source: str = ""
    note: str = ""
    quiet: bool = False
    raises: str | None = None
    cause: Spot | None = None
    symptom: Spot | None = None
    cause_line: int | None = None
    symptom_line: int | None = None
    fixed: tuple[Cell, ...] = ()
    check: str = ""

    @property
    def base(self) -> str:
        """The id of the case that this one is a variation of, or its own."""
        return self.id.partition("~")[0]


@dataclass
class _Code:
    """A section of code, its marks taken out."""

    lines: list[str] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)

    def add(self, line: str) -> None:
        marked = _MARK.search(line)
        if marked:
            line = line[: marked.start()]
            for word in marked["words"].split():
                if word not in ("cause", "symptom") or word in self.marks:
                    raise BadCaseError(f"the mark {word!r} is unknown, or there twice")
                self.marks[word] = len(self.lines) + 1
        self.lines.append(line)

    def text(self) -> str:
        return "\n".join(self.lines).rstrip("\n")


def cells_of(code: str) -> tuple[Cell, ...]:
    """Split code at its ``# %%`` lines and return the cells in the order in which they run."""
    written: list[Cell] = []
    order: list[Cell] = []
    lines = code.split("\n")
    starts = [0, *(at + 1 for at, line in enumerate(lines) if _CELL.match(line))]
    ends = [*(start - 1 for start in starts[1:]), len(lines)]
    for begin, end in zip(starts, ends, strict=True):
        start = begin
        separator = _CELL.match(lines[begin - 1]) if begin else None
        while start < end and not lines[start].strip():
            start += 1  # as IPython does, so that lines count from the first that is not blank
        body = "\n".join(lines[start:end]).rstrip()
        if separator and separator["number"]:
            number = int(separator["number"])
            if body or not 1 <= number <= len(written):
                raise BadCaseError(f"rerun {number}: no such cell, or code below it")
            order.append(written[number - 1])
        elif body:
            written.append(Cell(len(written) + 1, body, start + 1))
            order.append(written[-1])
    return tuple(order)


def _spot(cells: Iterable[Cell], line: int | None) -> Spot | None:
    for cell in cells:
        if line is not None and 0 <= line - cell.first_line <= cell.source.count("\n"):
            return Spot(cell.number, line - cell.first_line + 1)
    return None


def _header(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    key = ""
    for line in lines:
        begun, more = _KEY.match(line), _MORE.match(line)
        if more and key:
            found[key] += f" {more[1]}"
        elif begun and begun[1] in KEYS and begun[1] not in found:
            key = begun[1]
            found[key] = begun[2]
        else:
            raise BadCaseError(f"not a line of a header: {line!r}")
    return found


def _raises(header: dict[str, str], quiet: bool) -> str | None:
    """Return what ends a cell, as the header says it or as torch's words begin."""
    if "raises" in header:
        return header["raises"]
    if "torch" in header:
        said = re.search(r"(?:^|; )(\w+Error) \(", header["torch"])
        return said[1] if said else ""
    return "" if quiet else None


def parse(text: str, path: Path) -> Case:
    """Make a case of the text of its file.

    Raises
    ------
    BadCaseError
        If the text is not in the form that the README describes.
    """
    top, _, rest = text.partition("\n\n")
    header = _header(top.split("\n"))
    sections = {name: _Code() for name in SECTIONS}
    now = "code"
    for line in rest.lstrip("\n").split("\n"):
        if line.startswith("# ==="):
            now = line.removeprefix("# ===").strip()
            if now not in sections or sections[now].lines:
                raise BadCaseError(f"not a section, or there twice: {line!r}")
        else:
            sections[now].add(line)
    code, marks = sections["code"].text(), sections["code"].marks
    cells = cells_of(code)
    cause_line, symptom_line = marks.get("cause"), marks.get("symptom")
    quiet = header.get("quiet") == "true"
    kind = header.get("kind", "")
    if not header.get("title") or kind != path.parent.name or not cells:
        raise BadCaseError("a case has a title, its folder's name as its kind, and code")
    if not quiet and not (header.get("variable") and cause_line and symptom_line):
        raise BadCaseError("a case that is not quiet has a variable, a cause and a symptom")
    words = {key: header.get(key, "") for key in KEYS if key not in ("quiet", "raises")}
    return Case(
        id=path.stem,
        path=path,
        code=code,
        cells=cells,
        quiet=quiet,
        raises=_raises(header, quiet),
        cause=_spot(cells, cause_line),
        symptom=_spot(cells, symptom_line),
        cause_line=cause_line,
        symptom_line=symptom_line,
        fixed=cells_of(sections["fixed"].text()),
        check=sections["check"].text(),
        **words,
    )


def load(folder: Path = FOLDER) -> list[Case]:
    """Read every case file in the folders of a folder, sorted by kind and id."""
    cases = []
    for path in sorted(folder.glob("*/*.py")):
        try:
            cases.append(parse(path.read_text(encoding="utf-8"), path))
        except BadCaseError as error:
            raise BadCaseError(f"{path}: {error}") from None
    return cases


def pending() -> dict[str, str]:
    """Return the ids of what is not found today, each with its reason."""
    lines = PENDING.read_text(encoding="utf-8").splitlines()
    entries = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    found = {entry[0]: entry[1] for entry in entries}
    if len(found) != len(entries):
        raise BadCaseError(f"{PENDING}: an id is there twice")
    return found


def mentions(text: str, name: str) -> bool:
    """Whether a message names a variable: as a word of its own, or in quotes.

    ``a`` and ``i`` are also words of English, and count in quotes only.
    """
    if any(f"{q}{name}{q}" in text for q in "`'\""):
        return True
    if name in ("a", "i", "I"):
        return False
    return bool(re.search(rf"(?<![\w.'’]){re.escape(name)}(?![\w'’])", text))

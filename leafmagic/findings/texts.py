"""Edits of one expression or statement, found again in the text that it was read from."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from leafmagic.cell import Place
from leafmagic.edits import Edit, apply
from leafmagic.findings.source import Source, source_at
from leafmagic.statements import lines_of, segment

_BLOCKS = ("body", "orelse", "finalbody")
_STEP = "    "
_MOST_TEXTS = 8


@dataclass(frozen=True)
class Row:
    """The statements that share a line, as in ``a = 1; b = 2``, and what is around them.

    Attributes
    ----------
    statements : tuple of ast.stmt
        From the first to the last one on the line.
    indent : str
        That of lines of their own.
    below : bool
        Whether they stand behind the head of a block, as in ``if x: a = 1``.
    """

    statements: tuple[ast.stmt, ...]
    indent: str
    below: bool


class Text:
    """A text in which statements are replaced."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines = lines_of(source.text)

    def node(self, place: Place) -> ast.AST | None:
        """Find what a place is of; None if the text is not known, or another one."""
        if not 0 < place.line <= len(self.lines) or self.lines[place.line - 1] != place.text:
            return None
        for node in self.source.nodes:
            if (
                getattr(node, "lineno", 0) == place.line
                and type(node).__name__ == place.kind
                and self.column(node.lineno, node.col_offset) == place.column  # type: ignore[attr-defined]
                and (isinstance(node, ast.stmt) or self.end(node) == _end(place))
            ):
                return node
        return None

    def statement(self, place: Place) -> ast.stmt | None:
        """Return the statement that runs a place; that of a lambda runs it elsewhere."""
        node = self.node(place)
        above = [] if node is None else [node, *self.source.parents(node)]
        found = next((n for n in above if isinstance(n, ast.stmt | ast.Lambda)), None)
        return found if isinstance(found, ast.stmt) else None

    def column(self, line: int, column: int) -> int:
        """Turn a column in bytes into one in characters."""
        return len(self.lines[line - 1].encode()[:column].decode(errors="ignore"))

    def start(self, node: ast.AST) -> tuple[int, int]:
        """Return line and column where a node begins, decorators included."""
        first = min([node, *getattr(node, "decorator_list", [])], key=lambda n: n.lineno)
        line, column = first.lineno, first.col_offset
        if first is not node:
            column = node.col_offset  # type: ignore[attr-defined]
        return line, self.column(line, column)

    def end(self, node: ast.AST) -> tuple[int, int]:
        """Return line and column behind a node."""
        line: int = getattr(node, "end_lineno", 1)
        return line, self.column(line, getattr(node, "end_col_offset", 0))

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the statements of the block that a statement is in."""
        above = next(self.source.parents(statement), None)
        blocks = [getattr(above, field, None) for field in _BLOCKS]
        return next((b for b in blocks if isinstance(b, list) and statement in b), [statement])

    def row(self, statement: ast.stmt) -> Row:
        """Return the statements on the line of a statement."""
        block = self.block(statement)
        first = last = block.index(statement)
        while first and block[first - 1].end_lineno == self.start(block[first])[0]:
            first -= 1
        while last + 1 < len(block) and self.start(block[last + 1])[0] == block[last].end_lineno:
            last += 1
        line, column = self.start(block[first])
        before = self.lines[line - 1][:column]
        indent = before[: len(before) - len(before.lstrip())]
        below = bool(before.strip())
        if below:
            above = next(self.source.parents(statement), None)
            head = self.lines[getattr(above, "lineno", line) - 1]
            indent = head[: len(head) - len(head.lstrip())] + _STEP
        return Row(tuple(block[first : last + 1]), indent, below)

    def words(self, node: ast.AST) -> str:
        """Return the source of a node, decorators included."""
        line, column = self.start(node)
        whole = segment(self.source.text, node)
        if line == getattr(node, "lineno", line):
            return whole
        above = self.lines[line - 1 : node.lineno - 1]  # type: ignore[attr-defined]
        return "\n".join([above[0][column:], *above[1:]]) + "\n" + " " * column + whole

    def edit(self, start: tuple[int, int], end: tuple[int, int], new: str) -> Edit:
        """Make an edit of a range."""
        source = "\n".join(self.lines[start[0] - 1 : end[0]])
        return Edit(self.source.label, *start, *end, new, source)

    def checked(self, edits: tuple[Edit, ...]) -> tuple[Edit, ...]:
        """Return edits if the text is code with them, else none."""
        try:
            ast.parse(apply("\n".join(self.lines), edits))
        except (SyntaxError, ValueError):
            return ()
        return edits


def _end(place: Place) -> tuple[int, int | None]:
    return place.end_line, place.end_column


def text_at(place: Place) -> Text:
    """Return the text that a place is in."""
    return Text(source_at(place))


def edited(
    place: Place, make: Callable[[Text, Place, str], tuple[Edit, ...]], new: str = ""
) -> tuple[Edit, ...]:
    """Make edits at a place, once for each text, place and replacement."""
    return _edited(text_of(place.filename), place, make, new)


_JOINED: dict[str, tuple[list[str], str]] = {}
"""By file name its lines and its text: joined once, since a rule may tell of every step."""


def text_of(filename: str) -> str:
    """Return the text of a file, the same string as long as it has the same lines."""
    lines = linecache.getlines(filename)
    known = _JOINED.get(filename)
    if known is None or known[0] is not lines:
        if len(_JOINED) >= _MOST_TEXTS:
            _JOINED.clear()
        known = _JOINED[filename] = lines, "".join(lines)
    return known[1]


@lru_cache(maxsize=256)
def _edited(
    text: str, place: Place, make: Callable[[Text, Place, str], tuple[Edit, ...]], new: str
) -> tuple[Edit, ...]:
    if not text or not (new or make is removal):
        return ()
    there = text_at(place)
    return there.checked(make(there, place, new))


def expression(text: Text, place: Place, new: str) -> tuple[Edit, ...]:
    """Replace an expression."""
    node = text.node(place)
    if node is None or isinstance(node, ast.stmt):
        return ()
    return (text.edit(text.start(node), text.end(node), new),)


def statement(text: Text, place: Place, new: str) -> tuple[Edit, ...]:
    """Replace the statement that a place is in; it must be a simple one."""
    found = text.statement(place)
    if found is None or not _is_simple(found):
        return ()
    return (_rewritten(text, found, [new], whole=True),)


def removal(text: Text, place: Place, _: str) -> tuple[Edit, ...]:
    """Take a simple statement away, with its line if it has one of its own."""
    found = text.statement(place)
    if found is None or not _is_simple(found):
        return ()
    row, block = text.row(found), text.block(found)
    if len(block) == 1 and not isinstance(next(text.source.parents(found), None), ast.Module):
        return (text.edit(text.start(found), text.end(found), "pass"),)
    index = row.statements.index(found)
    if index + 1 < len(row.statements):
        return (text.edit(text.start(found), text.start(row.statements[index + 1]), ""),)
    if index:
        return (text.edit(text.end(row.statements[index - 1]), text.end(found), ""),)
    first, last = text.start(found), text.end(found)
    left = text.lines[last[0] - 1]
    comment = left[last[1] :].strip(" \t;")
    if comment:
        return (text.edit(first, (last[0], len(left.rstrip()) - len(comment)), ""),)
    if last[0] < len(text.lines):
        return (text.edit((first[0], 0), (last[0] + 1, 0), ""),)
    return (text.edit((first[0], 0), (last[0], len(text.lines[last[0] - 1])), ""),)


def before(text: Text, place: Place, new: str) -> tuple[Edit, ...]:
    """Insert statements before the one that a place is in."""
    found = text.statement(place)
    return () if found is None else (_rewritten(text, found, [new, ""]),)


def after(text: Text, place: Place, new: str) -> tuple[Edit, ...]:
    """Insert statements after the simple one that a place is in."""
    found = text.statement(place)
    if found is None or not _is_simple(found):
        return ()
    return (_rewritten(text, found, ["", new]),)


def wrapped(text: Text, place: Place, head: str) -> tuple[Edit, ...]:
    """Put the simple statement that a place is in under a head such as ``with x:``."""
    found = text.statement(place)
    if found is None or not _is_simple(found):
        return ()
    new = f"{head}\n{_STEP}{indented(text.words(found), _STEP)}"
    return (_rewritten(text, found, [new], whole=True),)


def indented(words: str, pad: str) -> str:
    """Indent all lines but the first; those of a string that goes over lines stay."""
    shifted = words.replace("\n", "\n" + pad)
    try:
        same = ast.dump(ast.parse(words)) == ast.dump(ast.parse(shifted))
    except SyntaxError:
        # A return outside of its function parses; anything else is left alone.
        same = False
    return shifted if same else words


def indents(text: Text, first: int, last: int) -> tuple[Edit, ...]:
    """Indent lines of whole statements, comments between them too, strings not."""
    inside_strings = {
        line
        for node in text.source.nodes
        if isinstance(node, ast.Constant | ast.JoinedStr) and node.end_lineno is not None
        for line in range(node.lineno + 1, node.end_lineno + 1)
    }
    return tuple(
        text.edit((line, 0), (line, 0), _STEP)
        for line in range(first, last + 1)
        if text.lines[line - 1].strip() and line not in inside_strings
    )


def under(text: Text, head: str, first: ast.AST, last: ast.AST) -> tuple[Edit, ...]:
    """Put the statements from one to another, each on lines of its own, under a head."""
    line, column = text.start(first)
    pad = text.lines[line - 1][:column]
    above = text.edit((line, 0), (line, 0), f"{pad}{head}\n")
    return () if pad.strip() else text.checked((above, *indents(text, line, text.end(last)[0])))


def _is_simple(node: ast.stmt) -> bool:
    return not any(hasattr(node, field) for field in (*_BLOCKS, "cases"))


def _is_one_line(new: str) -> bool:
    try:
        return "\n" not in new and all(_is_simple(node) for node in ast.parse(new).body)
    except SyntaxError:
        return False


def _rewritten(text: Text, found: ast.stmt, new: list[str], *, whole: bool = False) -> Edit:
    """Replace a statement, or put others before or after it.

    Parameters
    ----------
    new : list of str
        What the statement becomes; an empty part is the statement as it is.
    whole : bool
        Whether the statement itself is replaced.
    """
    row = text.row(found)
    alone = len(row.statements) == 1 and not row.below
    indent = "\n" + row.indent
    first, last = text.start(found), text.end(found)
    if alone:
        parts = [part.replace("\n", indent) for part in new]
        if whole:
            return text.edit(first, last, indent.join(parts))
        if parts[0]:
            return text.edit(first, first, parts[0] + indent)
        line = last[0]
        width = len(text.lines[line - 1])
        return text.edit((line, width), (line, width), indent + parts[1])
    if all(_is_one_line(part) for part in new if part):
        if whole:
            return text.edit(first, last, "; ".join(new))
        at, joined = (first, new[0] + "; ") if new[0] else (last, "; " + new[1])
        return text.edit(at, at, joined)
    # A compound statement cannot follow a semicolon: each gets a line of its own.
    parts = []
    for other in row.statements:
        for part in new if other is found else [""]:
            parts.append(part.replace("\n", indent) if part else text.words(other))
    start, end = text.start(row.statements[0]), text.end(row.statements[-1])
    if row.below:
        head = text.lines[start[0] - 1][: start[1]].rstrip()
        return text.edit((start[0], len(head)), end, indent + indent.join(parts))
    return text.edit(start, end, indent.join(parts))

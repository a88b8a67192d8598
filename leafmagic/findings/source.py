"""Reading the source: which expression is which of torch's functions, and where it stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from leafmagic.cell import Place, source_of
from leafmagic.looks import SourceRead
from leafmagic.statements import lines_of, segment

Function = ast.FunctionDef | ast.AsyncFunctionDef

_CUSTOMARY = (
    ("torch", "torch"),
    ("autograd", "torch.autograd"),
    ("Function", "torch.autograd.Function"),
    ("no_grad", "torch.no_grad"),
    ("enable_grad", "torch.enable_grad"),
    ("inference_mode", "torch.inference_mode"),
    ("once_differentiable", "torch.autograd.function.once_differentiable"),
)
"""What these names stand for where the namespace cannot be asked."""


class Source:
    """A parsed text.

    Parameters
    ----------
    text, filename, label : str
        As in `leafmagic.events.SourceRead`.
    names : tuple of (name, path), optional
        What names of the text stand for, beside what it imports itself; if left out,
        names that the text does not bind stand for what they customarily do.
    """

    def __init__(
        self,
        text: str,
        filename: str,
        label: str,
        names: tuple[tuple[str, str], ...] | None = None,
    ) -> None:
        self.text, self.filename, self.label = text, filename, label
        try:
            self.tree = ast.parse(text)
        except (SyntaxError, ValueError):
            self.tree = ast.Module([], [])
        self.nodes = sorted(ast.walk(self.tree), key=lambda n: getattr(n, "lineno", 0))
        self._parents = {
            id(child): node for node in self.nodes for child in ast.iter_child_nodes(node)
        }
        if names is None:
            self._names = self._customary() | self._imported()
        else:
            self._names = self._imported() | dict(names)

    def _customary(self) -> dict[str, str]:
        bound = {
            getattr(node, "id", None) or getattr(node, "name", None)
            for node in self.nodes
            if isinstance(node, Function | ast.ClassDef)
            or (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load))
        }
        return {name: path for name, path in _CUSTOMARY if name not in bound}

    def _imported(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    whole = alias.name if alias.asname else alias.name.partition(".")[0]
                    found[alias.asname or whole] = whole
            elif isinstance(node, ast.ImportFrom) and not node.level:
                for alias in node.names:
                    found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return found

    def within(self, first: int, last: int) -> Iterator[ast.AST]:
        """Return the nodes that begin in these lines, in the order of the text."""
        return (n for n in self.nodes if first <= getattr(n, "lineno", 0) <= last)

    def parents(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what a node stands in, innermost first."""
        above = self._parents.get(id(node))
        while above is not None:
            yield above
            above = self._parents.get(id(above))

    def function(self, node: ast.AST) -> Function | ast.Lambda | None:
        """Return the function around a node."""
        for above in self.parents(node):
            if isinstance(above, Function | ast.Lambda):
                return above
        return None

    def statement(self, node: ast.AST) -> ast.AST:
        """Return the statement that a node belongs to."""
        if isinstance(node, ast.stmt):
            return node
        return next((n for n in self.parents(node) if isinstance(n, ast.stmt)), node)

    def following(self, node: ast.AST) -> int | None:
        """Return the line of the statement after the one that a node belongs to."""
        statement = self.statement(node)
        above = next(self.parents(statement), None)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(above, field, None)
            if isinstance(block, list) and statement in block:
                rest = block[block.index(statement) + 1 :]
                return rest[0].lineno if rest else None
        return None

    def in_torch(self, node: ast.AST) -> str:
        """Return the dotted path of something of torch; empty for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        path = ".".join([self._names.get(node.id, ""), *reversed(parts)])
        return path if path.partition(".")[0] == "torch" else ""

    def last(self, node: ast.AST) -> str:
        """Return the last word of the path of something of torch."""
        return self.in_torch(node).rpartition(".")[2]

    def called(self, node: ast.AST) -> str:
        """Return which of torch's functions a call is of; empty for anything else."""
        return self.last(node.func) if isinstance(node, ast.Call) else ""

    def words(self, node: ast.AST) -> str:
        """Return the source of a node."""
        return segment(self.text, node)

    def place(self, node: ast.AST) -> Place:
        """Return where a node stands, in the words of the cell."""
        lines = lines_of(self.text)
        line, end = getattr(node, "lineno", 1), getattr(node, "end_lineno", None)
        text = lines[line - 1] if line <= len(lines) else ""
        ends = lines[end - 1] if end is not None and end <= len(lines) else text
        statement = getattr(self.statement(node), "lineno", line)
        return Place(
            self.filename,
            self.label,
            getattr(self.function(node), "name", "<module>"),
            line,
            end or line,
            column=_characters(text, getattr(node, "col_offset", None)),
            end_column=_characters(ends, getattr(node, "end_col_offset", None)),
            source=self.words(node),
            statement=lines[statement - 1].strip() if statement <= len(lines) else "",
            text=text,
            kind=type(node).__name__,
        )


def _characters(line: str, column: int | None) -> int | None:
    return None if column is None else len(line.encode()[:column].decode(errors="ignore"))


_parsed = lru_cache(maxsize=8)(Source)


def mentions(event: SourceRead, *words: str) -> bool:
    """Tell whether a text may be about something of torch, without parsing it."""
    return any(word in event.text or any(word in path for _, path in event.names) for word in words)


def source_read(event: SourceRead) -> Source:
    """Return the parsed text of a trace."""
    return _parsed(event.text, event.filename, event.label, event.names)


def source_at(place: Place) -> Source:
    """Return the parsed text that a place is in; nothing is in it where it cannot be had."""
    return _parsed(source_of(place.filename), place.filename, place.label)

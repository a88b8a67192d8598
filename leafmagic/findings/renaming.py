"""A computed tensor that took the name of its leaf: which one keeps it."""

from __future__ import annotations

import ast
import textwrap

from leafmagic.cell import Place
from leafmagic.edits import Edit, apply
from leafmagic.findings import fixes
from leafmagic.findings.texts import Text, text_at

Fix = tuple[str, tuple[Edit, ...]]

_LOOPS = ast.For | ast.AsyncFor | ast.While
_BLOCKS = _LOOPS | ast.If | ast.Try | ast.With
_MOST_LINES = 3
_MAYBE = ast.If | ast.Try


def way(made: Place, read: Place, variable: str, leaf_line: int | None) -> Fix:
    """Return how to tell a leaf and what is computed from it apart.

    Parameters
    ----------
    made : Place
        Where the new tensor is made.
    read : Place
        Where the gradient of the leaf is wanted.
    variable : str
        What both are called.
    leaf_line : int or None
        Where the leaf was made, if that was in the same text.
    """
    value = fixes.words(made)
    bound = value and made.targets == (variable,) and "[" not in variable
    told = f"{variable}2 = {value}" if bound else ""
    words = f"{told}  # another name for the result" if told else "give the result another name"
    if not variable.isidentifier() or made.filename != read.filename:
        return words, ()
    names = _Names(text_at(read), read, variable)
    there = names.binding(made)
    if there is None:
        return words, ()
    return names.renamed(there, leaf_line) or names.kept(leaf_line) or (words, ())


class _Names:
    """All places where a function, or a cell, says a name."""

    def __init__(self, text: Text, read: Place, variable: str) -> None:
        self.text, self.variable = text, variable
        node = text.node(read)
        self.known = node is not None
        self.read = read
        self.around = None if node is None else text.source.function(node)
        named = [n for n in text.source.nodes if isinstance(n, ast.Name) and n.id == variable]
        self.mine = [n for n in named if text.source.function(n) is self.around]
        self.elsewhere = len(self.mine) < len(named)
        self.stores = [n for n in self.mine if isinstance(n.ctx, ast.Store)]

    def binding(self, made: Place) -> ast.stmt | None:
        """Return the assignment that gave the new tensor its name."""
        if not self.known:
            return None
        found = [self.text.source.statement(node) for node in self.stores]
        there = self.text.statement(made)
        if there in found:
            return there
        before = [s for s in found if isinstance(s, ast.stmt) and s.lineno <= self.read.line]
        return max(before, key=lambda s: s.lineno, default=None)

    def fresh(self, ending: str) -> str:
        """Return a name that the text does not have."""
        names = {n.id for n in self.text.source.nodes if isinstance(n, ast.Name)}
        names |= {n.arg for n in self.text.source.nodes if isinstance(n, ast.arg)}
        name = self.variable + ending
        while name in names:
            name += "_"
        return name

    def renamed(self, bound: ast.stmt, leaf_line: int | None) -> Fix | None:
        """Give the result another name, where every later use of the name means the result."""
        if not isinstance(bound, ast.Assign) or len(bound.targets) != 1 or self.elsewhere:
            return None
        if not isinstance(bound.targets[0], ast.Name) or not self._is_run_once(bound):
            return None
        end = self.text.end(bound)
        since = leaf_line or 0
        others = [n for n in self.stores if n is not bound.targets[0] and n.lineno > since]
        if any(self.text.start(n) >= end or n.lineno < bound.lineno for n in others):
            return None
        new = self.fresh("2")
        later = [n for n in self.mine if self.text.start(n) >= end and not self._is_grad(n)]
        edits = self._replaced([bound.targets[0], *later], new)
        if not edits:
            return None
        more = "  # another name for the result, from here on" if later else ""
        line = f"{new} = {self.text.words(bound.value)}{more}"
        return self._lines(bound, edits) or line, edits

    def kept(self, leaf_line: int | None) -> Fix | None:
        """Keep the leaf under another name, from before the first line that takes its own."""
        source = self.text.source
        places = [source.statement(node) for node in self.stores]
        after = [s for s in places if isinstance(s, ast.stmt) and s.lineno > (leaf_line or 0)]
        first = min(after, key=lambda s: s.lineno, default=None)
        if first is None:
            return None
        for above in source.parents(first):
            if not isinstance(above, _BLOCKS):
                break
            if leaf_line is not None and above.lineno <= leaf_line <= (above.end_lineno or 0):
                break
            first = above
        new = self.fresh("_leaf")
        start = self.text.start(first)
        reads = [n for n in self.mine if self.text.start(n) > start and self._is_grad(n)]
        edits = fixes.together(
            fixes.insert_before(source.place(first), f"{new} = {self.variable}"),
            self._replaced(list(reads), new),
        )
        if not edits:
            return None
        return f"{new} = {self.variable}  # before line {first.lineno}; then {new}.grad", edits

    def _lines(self, bound: ast.stmt, edits: tuple[Edit, ...]) -> str:
        """Return all lines that change, and those between them, if they are few."""
        first, last = self.text.start(bound)[0], max(edit.end_line for edit in edits)
        if last - first > _MOST_LINES:
            return ""
        new = apply("\n".join(self.text.lines), edits).split("\n")
        lines = textwrap.dedent("\n".join(new[first - 1 : last])).strip("\n")
        try:
            ast.parse(lines)
        except SyntaxError:
            return ""
        return lines

    def _is_run_once(self, bound: ast.stmt) -> bool:
        """Tell whether nothing is carried to the next round, and the line is always run."""
        for above in self.text.source.parents(bound):
            if isinstance(above, _MAYBE):
                return False
            if isinstance(above, _LOOPS):
                last = above.end_lineno or above.lineno
                later = self.text.source.within(bound.lineno, last)
                return any(isinstance(n, ast.Attribute) and n.attr == "backward" for n in later)
            if not isinstance(above, ast.With):
                break
        return True

    def _is_grad(self, node: ast.Name) -> bool:
        above = next(self.text.source.parents(node), None)
        return isinstance(above, ast.Attribute) and above.attr == "grad"

    def _replaced(self, nodes: list[ast.Name], new: str) -> tuple[Edit, ...]:
        ends = [(self.text.start(node), self.text.end(node)) for node in nodes]
        return self.text.checked(tuple(self.text.edit(*span, new) for span in ends))

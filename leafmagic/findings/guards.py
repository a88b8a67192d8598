"""Whether one place of the code runs only under a condition, as seen from another."""

from __future__ import annotations

import ast

from leafmagic.cell import Place
from leafmagic.findings.source import Function, Source, source_at

_GUARDS = ast.If | ast.ExceptHandler | ast.Match | ast.IfExp


def is_guarded(place: Place, seen_from: Place) -> bool:
    """Tell whether a condition stands around a place and not around another.

    ``if not finite: opt.zero_grad()`` is guarded, as seen from the pass before it.
    """
    source = source_at(place)
    node = node_at(source, place)
    if node is None:
        return False
    other = node_at(source, seen_from) if seen_from.filename == place.filename else None
    around = set() if other is None else {id(above) for above in source.parents(other)}
    for above in source.parents(node):
        if isinstance(above, Function | ast.Lambda):
            return False
        if isinstance(above, _GUARDS) and id(above) not in around:
            return True
    return False


def node_at(source: Source, place: Place) -> ast.AST | None:
    """Return the innermost node that begins where a place does."""
    found: ast.AST | None = None
    for node in source.within(place.line, place.line):
        if place.column is None or source.place(node).column == place.column:
            found = node
    return found


def call_before(place: Place, method: str) -> Place | None:
    """Return the newest call of a method that surely ran before a place.

    That is one that stands by itself, before the place, in its own block or in one around
    it, and in the same function.
    """
    source = source_at(place)
    node = node_at(source, place)
    found: Place | None = None
    while node is not None and found is None:
        statement = source.statement(node)
        above = next(source.parents(statement), None)
        for block in _blocks(above):
            if statement in block:
                for earlier in block[: block.index(statement)]:
                    if _calls(earlier, method):
                        found = source.place(earlier.value)  # type: ignore[attr-defined]
        node = None if isinstance(above, Function | ast.Lambda | ast.Module) else above
    return found


def _blocks(node: ast.AST | None) -> list[list[ast.stmt]]:
    blocks = [getattr(node, field, None) for field in ("body", "orelse", "finalbody")]
    return [block for block in blocks if isinstance(block, list)]


def _calls(statement: ast.stmt, method: str) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and isinstance(statement.value.func, ast.Attribute)
        and statement.value.func.attr == method
    )

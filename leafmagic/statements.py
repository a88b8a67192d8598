"""The statements of a cell, and the names they bind."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_LONGEST_SOURCE = 200
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@lru_cache(maxsize=64)
def lines_of(text: str) -> tuple[str, ...]:
    """Split a text as Python counts its lines."""
    return tuple(text.replace("\r\n", "\n").split("\n"))


def segment(text: str, node: ast.AST) -> str:
    """Return the source of a node; empty where it has none.

    `ast.get_source_segment` splits the whole text each time, in Python.
    """
    first: int | None = getattr(node, "lineno", None)
    last: int | None = getattr(node, "end_lineno", None)
    lines = lines_of(text)
    if first is None or last is None or not 0 < first <= last <= len(lines):
        return ""
    start: int = getattr(node, "col_offset", 0)
    end: int = getattr(node, "end_col_offset", 0)
    if first == last:
        return lines[first - 1].encode()[start:end].decode(errors="ignore")
    parts = [lines[first - 1].encode()[start:].decode(errors="ignore")]
    parts += lines[first : last - 1]
    parts.append(lines[last - 1].encode()[:end].decode(errors="ignore"))
    return "\n".join(parts)


@dataclass(frozen=True, slots=True)
class Statement:
    """A simple statement, or the head of a compound one, and the names it binds."""

    line: int
    end_line: int
    names: tuple[str, ...]
    value: str = ""
    """The right-hand side, where one name is bound to it."""


@lru_cache(maxsize=64)
def statements_of(text: str) -> tuple[Statement, ...]:
    """List the statements at the top of a cell, loop bodies included, in order.

    Functions and classes are opaque: their bodies run in frames of their own.
    A text that does not parse (it holds magics) has no statements.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    found: list[Statement] = []
    stack: list[ast.stmt] = list(reversed(tree.body))
    while stack:
        statement = stack.pop()
        bodies: list[ast.stmt] = []
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                bodies.extend(getattr(statement, field, []))
            for handler in getattr(statement, "handlers", []):
                bodies.extend(handler.body)
            for case in getattr(statement, "cases", []):
                bodies.extend(case.body)
        end = bodies[0].lineno - 1 if bodies else statement.end_lineno or statement.lineno
        names = _bound_names(statement, bodies)
        value = _value_of(statement, text)
        found.append(Statement(statement.lineno, max(end, statement.lineno), names, value))
        stack.extend(reversed(bodies))
    found.sort(key=lambda s: s.line)
    return tuple(found)


def _value_of(statement: ast.stmt, text: str) -> str:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ""
    if not isinstance(statement.targets[0], ast.Name):
        return ""
    return segment(text, statement.value)[:_LONGEST_SOURCE]


def _bound_names(statement: ast.stmt, bodies: list[ast.stmt]) -> tuple[str, ...]:
    inner = {id(body) for body in bodies}
    names: dict[str, None] = {}
    stack: list[ast.AST] = [statement]
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return (statement.name,)
    while stack:
        node = stack.pop()
        if id(node) in inner or isinstance(node, ast.Lambda):
            continue
        if isinstance(node, ast.comprehension):
            # Its target is its own; only a walrus leaks out of it.
            stack.extend([node.iter, *node.ifs])
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.setdefault(node.id)
        stack.extend(ast.iter_child_nodes(node))
    return tuple(names)


def line_magic(node: ast.AST) -> tuple[str, str] | None:
    """Return the name of a line magic and what follows it; None for what is no such call.

    IPython makes a call ``get_ipython().run_line_magic('time', 'x = f()')`` of ``%time x = f()``.
    """
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    given = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
    if node.func.attr != "run_line_magic" or len(given) != 2 or len(node.args) != 2:
        return None
    name, code = given
    return (name, code) if isinstance(name, str) and isinstance(code, str) else None


class Loops(NamedTuple):
    """What is around a line.

    Attributes
    ----------
    filename : str
    function : int
        First line of the innermost function; 0 at the top.
    around : tuple of int
        First lines of the loops in that function, outermost first.
    """

    filename: str
    function: int
    around: tuple[int, ...]


@lru_cache(maxsize=64)
def _blocks(text: str) -> tuple[tuple[int, int, bool], ...]:
    """List first line, last line and whether it is a function, of functions and loops."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    found = [
        (node.lineno, node.end_lineno or node.lineno, isinstance(node, _FUNCTIONS))
        for node in ast.walk(tree)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While, *_FUNCTIONS))
    ]
    return tuple(sorted(found, key=lambda block: (block[0], -block[1])))


def loops_at(text: str, filename: str, line: int) -> Loops:
    """Return the loops around a line; the head of a loop is outside of it."""
    function = 0
    around: list[int] = []
    for first, last, is_function in _blocks(text):
        if not first < line <= last and not (first == last == line):
            continue
        if is_function:
            function, around = first, []
        else:
            around.append(first)
    return Loops(filename, function, tuple(around))


class AttributeStore(NamedTuple):
    """An assignment to an attribute.

    Attributes
    ----------
    owner, name : str
        ``"net[1]"`` and ``"requires_grad"`` for ``net[1].requires_grad = False``.
    line : int
    value : str
        The source of what is assigned; empty where that is not one expression.
    own : bool
        Whether a method sets it on its own object.
    local : bool
        Whether it is inside a function.
    """

    owner: str
    name: str
    line: int
    value: str = ""
    own: bool = False
    local: bool = False


@lru_cache(maxsize=64)
def attribute_stores(text: str) -> tuple[AttributeStore, ...]:
    """List the assignments to attributes in a text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return ()
    found: list[tuple[int, AttributeStore]] = []
    # With each node: what is assigned there, what methods around it call their object,
    # whether a function is around it.
    stack: list[tuple[ast.AST, str, frozenset[str], bool]] = [(tree, "", frozenset(), False)]
    while stack:
        node, value, selves, local = stack.pop()
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            owner = segment(text, node.value)
            store = AttributeStore(owner, node.attr, node.lineno, value, owner in selves, local)
            found.append((node.end_col_offset or 0, store))
        inner = ""
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            inner = segment(text, node.value)
        for child in ast.iter_child_nodes(node):
            here, inside = selves, local or isinstance(node, _FUNCTIONS)
            if isinstance(node, ast.ClassDef) and isinstance(child, _FUNCTIONS):
                here = selves | {a.arg for a in [*child.args.posonlyargs, *child.args.args][:1]}
            is_target = isinstance(child, ast.Attribute)
            stack.append((child, inner if is_target else "", here, inside))
    return tuple([store for _, store in sorted(found, key=lambda one: (one[1].line, one[0]))])

"""Reading the source: which names a value passes through, and where grad mode was switched off."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from leafmagic.cell import Place
from leafmagic.findings.source import Function, Source

_OFF = ("no_grad", "inference_mode")
_MOST_ROUNDS = 20
_ADDERS = ("append", "extend", "add", "insert", "update", "setdefault")


@dataclass(frozen=True, slots=True)
class Flow:
    """A statement by which values get to names.

    Attributes
    ----------
    targets, used : frozenset of str
        The names that it binds or adds to, and those that the value is made of.
    line, end_line : int
    """

    targets: frozenset[str]
    used: frozenset[str]
    line: int
    end_line: int


@lru_cache(maxsize=8)
def flows_of(source: Source) -> tuple[Flow, ...]:
    """List the flows of a text: assignments, loops, what lists are given, what is returned."""
    return tuple(
        Flow(frozenset(targets), frozenset(names_in(values)), first.lineno, last)
        for node in source.nodes
        for targets, values, first in _flow(source, node)
        if (last := first.end_lineno or first.lineno)
    )


def _flow(source: Source, node: ast.AST) -> Iterator[tuple[set[str], list[ast.AST], ast.expr]]:
    if isinstance(node, ast.Assign):
        yield _stored(node.targets), [node.value], node.value
    elif isinstance(node, ast.AugAssign):
        yield _stored([node.target]), [node.value, node.target], node.value
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        yield _stored([node.target]), [node.value], node.value
    elif isinstance(node, ast.For | ast.comprehension):
        yield _stored([node.target]), [node.iter], node.iter
    elif isinstance(node, ast.Return) and node.value is not None:
        around = source.function(node)
        if isinstance(around, Function):
            yield {around.name}, [node.value], node.value
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _ADDERS
        and node.args
    ):
        yield _stored([node.func.value]), list(node.args), node


def _stored(targets: Iterable[ast.AST]) -> set[str]:
    """Return the names that an assignment binds or adds to: ``total`` of ``total[i] = 1``."""
    found: set[str] = set()
    queue = list(targets)
    for node in queue:
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Tuple | ast.List):
            queue += node.elts
        elif isinstance(node, ast.Subscript | ast.Starred):
            queue.append(node.value)
    return found


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names and attributes that expressions are made of."""
    found: set[str] = set()
    for top in nodes:
        for node in ast.walk(top):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
    return found


@lru_cache(maxsize=4096)
def words_in(text: str) -> set[str]:
    """Like `names_in`, for a piece of source that need not be whole."""
    try:
        return names_in([ast.parse(text.strip().rstrip(":"))])
    except SyntaxError:
        return set()


def origins(source: Source, names: Iterable[str]) -> list[Flow]:
    """Return the flows that values of names come from, nearest first."""
    wanted, found = set(names), list[Flow]()
    for _ in range(_MOST_ROUNDS):
        new = [f for f in flows_of(source) if f.targets & wanted and f not in found]
        if not new:
            break
        found += new
        wanted = wanted.union(*(f.used for f in new))
    return found


def goes_to(source: Source, line: int) -> set[str]:
    """Return the names that the values of a line get to."""
    names: set[str] = set()
    for _ in range(_MOST_ROUNDS):
        new = [
            f
            for f in flows_of(source)
            if (f.line <= line <= f.end_line or f.used & names) and not f.targets <= names
        ]
        if not new:
            break
        names = names.union(*(f.targets for f in new))
    return names


def calls(node: ast.AST) -> set[str]:
    """Return the names of what is called in a piece of code: ``f`` of ``a.f()``."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            func = part.func
            if isinstance(func, ast.Name | ast.Attribute):
                found.add(func.id if isinstance(func, ast.Name) else func.attr)
    return found


@dataclass(frozen=True, slots=True)
class Switch:
    """Where grad mode was switched off.

    Attributes
    ----------
    place : Place
        The ``with`` statement, the decorator or the call.
    words : str
        Such as ``torch.no_grad()``.
    how : {"with", "decorator", "call"}
    around : bool
        Whether it stands around the very line, rather than around a call of its function.
    """

    place: Place
    words: str
    how: str
    around: bool


def switched_off(sources: Iterable[Source], place: Place) -> Switch | None:
    """Find what switched grad mode off for a line of the code."""
    texts = list(sources)
    here = next((s for s in texts if s.filename == place.filename), None)
    if here is not None:
        found = _around(here, place.line)
        if found is not None:
            return found
    for source in texts:
        found = _around_call(source, place.function.rpartition(".")[2])
        if found is not None:
            return found
    for source in texts:
        for node in source.nodes:
            if isinstance(node, ast.Expr) and _is_off(source, node.value, call=True):
                return Switch(source.place(node.value), source.words(node.value), "call", False)
    return None


def left_off_in(source: Source) -> Place | None:
    """Return the last statement of a text that switches grad mode off for good."""
    found = [
        node
        for node in source.nodes
        if isinstance(node, ast.Expr) and _is_off(source, node.value, call=True)
    ]
    plain = [node for node in found if source.function(node) is None]
    return source.place((plain or found)[-1].value) if found else None


def entered_by_hand(switch: Switch | None) -> bool:
    """Tell whether grad mode was switched off by ``torch.no_grad().__enter__()``."""
    return switch is not None and switch.how == "call" and switch.words.endswith("__enter__()")


def _is_off(source: Source, node: ast.AST, *, call: bool = False) -> bool:
    """Tell whether an expression stands for grad mode off."""
    func = node.func if isinstance(node, ast.Call) else node
    if isinstance(func, ast.Attribute) and func.attr == "__enter__":
        # Nothing holds the guard: that of inference_mode is gone at the end of the line.
        made = func.value
        return call and isinstance(made, ast.Call) and source.last(made.func) == "no_grad"
    last = source.last(func)
    if isinstance(func, ast.Attribute) and func.attr == "set_grad_enabled":
        last = func.attr  # whatever an earlier cell imported torch as
    if last == "set_grad_enabled" and isinstance(node, ast.Call):
        given = next(iter([*node.args, *(k.value for k in node.keywords)]), None)
        return given is not None and not (isinstance(given, ast.Constant) and given.value is True)
    return last in _OFF and not call


def _switch_of(source: Source, node: ast.AST, *, around: bool) -> Switch | None:
    if isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if _is_off(source, item.context_expr):
                words = source.words(item.context_expr)
                return Switch(source.place(node), words, "with", around)
    if isinstance(node, Function):
        for decorator in node.decorator_list:
            if _is_off(source, decorator):
                return Switch(source.place(decorator), source.words(decorator), "decorator", around)
    return None


def _around(source: Source, line: int) -> Switch | None:
    """Find the innermost switch that a line stands in."""
    best: Switch | None = None
    for node in source.nodes:
        if not isinstance(node, ast.With | ast.AsyncWith | Function):
            continue
        if node.body[0].lineno <= line <= (node.end_lineno or line):
            best = _switch_of(source, node, around=True) or best
    return best


def _around_call(source: Source, function: str) -> Switch | None:
    """Find a switch that a function is called in, or what calls it."""
    names = {function}
    for _ in range(3):
        for node in source.nodes:
            if isinstance(node, Function) and any(calls(part) & names for part in node.body):
                names.add(node.name)
    blocks = [n for n in source.nodes if isinstance(n, ast.With | ast.AsyncWith | Function)]
    found: list[tuple[ast.AST, Switch]] = []
    for node in blocks:
        switch = _switch_of(source, node, around=False)
        if switch is not None:
            found.append((node, switch))
    for node, switch in found:
        if any(calls(part) & names for part in getattr(node, "body", ())):
            return switch
    # A module's forward is called by its object's name.
    if function == "forward" and len(found) == 1:
        return found[0][1]
    return None

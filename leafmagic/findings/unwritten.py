"""Rewriting in-place ops whose result is used as ops that make a new tensor."""

from __future__ import annotations

import ast
import re

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.texts import Text, text_at

NONE: tuple[Edit, ...] = ()

_FILLS = frozenset(
    [
        "zero_",
        "fill_",
        "copy_",
        "set_",
        "resize_",
        "detach_",
        "requires_grad_",
        "normal_",
        "uniform_",
        "random_",
        "exponential_",
        "geometric_",
        "cauchy_",
        "log_normal_",
        "bernoulli_",
        "put_",
        "fill_diagonal_",
        "apply_",
        "map_",
    ]
)
"""Calls that give a tensor its first values, or that have no twin that makes a new one."""


_WORDS = "use the methods without _, which make new tensors"


def is_used(place: Place, variable: str) -> bool:
    """Tell whether a statement computes something from what an in-place op returns.

    ``w.mul_(2)``, ``w = w.mul_(2)`` and ``return w.mul_(2)`` are about the tensor itself.
    """
    text = text_at(place)
    node = text.node(place)
    if not isinstance(node, ast.Call) or _name(node) in _FILLS or not fixes.is_kept(variable):
        return False
    whole = fixes.chain_of(text, node)
    above = next(text.source.parents(whole), None)
    if _links(whole, node) != _writing(whole, node):
        return True
    if isinstance(above, ast.Assign | ast.AnnAssign | ast.NamedExpr):
        targets = above.targets if isinstance(above, ast.Assign) else [above.target]
        return variable not in [text.words(target) for target in targets]
    return not isinstance(
        above, ast.Expr | ast.Return | ast.ListComp | ast.GeneratorExp | ast.Lambda
    )


def without_writing(place: Place, variable: str) -> tuple[str, tuple[Edit, ...]]:
    """Return the fix, and its edits; none where the fix is words.

    Parameters
    ----------
    variable : str
        What the written tensor is called.
    """
    text = text_at(place)
    node = text.node(place)
    if not isinstance(node, ast.Call) or text.statement(place) is None:
        return _WORDS, ()
    edits = (
        _renamed(text, node, variable) or _flag_away(text, node) or _cloned(text, node, variable)
    )
    edits = text.checked(edits)
    return fixes.pasted(place, edits) or _WORDS, edits


def _links(whole: ast.AST, node: ast.AST) -> list[ast.Call]:
    """Return the calls of a chain, from the last back to the first."""
    found: list[ast.Call] = []
    while isinstance(whole, ast.Call):
        found.append(whole)
        if whole is node or not isinstance(whole.func, ast.Attribute):
            break
        whole = whole.func.value
    return found


def _writing(whole: ast.AST, node: ast.AST) -> list[ast.Call]:
    return [call for call in _links(whole, node) if call is node or _name(call).endswith("_")]


def _name(call: ast.Call) -> str:
    func = call.func
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def _renamed(text: Text, node: ast.Call, variable: str) -> tuple[Edit, ...]:
    """Take the underscores away: ``w.mul_(2).add_(1)`` becomes ``w.mul(2).add(1)``."""
    calls = _writing(fixes.chain_of(text, node), node)
    if not _name(node).endswith("_") or any(_name(call) in _FILLS for call in calls):
        return ()
    word = re.compile(rf"(?<![\w.]){re.escape(variable)}(?!\w)")
    given = [part for call in calls if call is not node for part in [*call.args, *call.keywords]]
    if any(word.search(text.words(part)) for part in given):
        return ()  # It reads what the calls before it have written.
    edits = []
    for call in calls:
        line, end = text.end(call.func)
        edits.append(text.edit((line, end - len(_name(call))), (line, end), _name(call)[:-1]))
    return tuple(edits)


def _flag_away(text: Text, node: ast.Call) -> tuple[Edit, ...]:
    """Take ``inplace=True`` or ``out=w`` away, from the call or from what is called."""
    for call in [call for call in (node, node.func) if isinstance(call, ast.Call)]:
        for given in call.keywords:
            if given.arg != "out" and (given.arg != "inplace" or text.words(given.value) != "True"):
                continue
            start, end = text.start(given), text.end(given)
            others = [*call.args, *(one for one in call.keywords if one is not given)]
            before = [text.end(one) for one in others if text.end(one) <= start]
            after = [text.start(one) for one in others if text.start(one) >= end]
            if before:
                start = max(before)
            elif after:
                end = min(after)
            return (text.edit(start, end, ""),)
    return ()


def _cloned(text: Text, node: ast.Call, variable: str) -> tuple[Edit, ...]:
    """Let an op write to a copy; its name does not tell that it writes."""
    if _name(node).endswith("_"):
        return ()
    receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    found = [part for part in [*receiver, *node.args] if text.words(part) == variable]
    if len(found) != 1:
        return ()
    copied = fixes.chained(variable, "clone()")
    return (text.edit(text.start(found[0]), text.end(found[0]), copied),)

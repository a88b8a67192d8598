"""Rewriting ``make(requires_grad=True).reshape(...)`` so that its result is the leaf."""

from __future__ import annotations

import ast
import re

_MAKERS = re.compile(
    r"^(new_)?(tensor|rand\w*|zeros\w*|ones\w*|empty\w*|full\w*|arange|range|linspace|logspace|eye"
    r"|normal|complex|sparse_\w+|\w+_window|tril_indices|triu_indices|Variable)$"
)
"""Functions of torch that take the flag, and make the same values without it."""

_SETTER = "requires_grad_"
_ATOMS = ast.Call | ast.Name | ast.Attribute | ast.Subscript | ast.Constant


class _Text:
    """An expression, its nodes and where they stand in it."""

    def __init__(self, source: str) -> None:
        # What goes on over lines need not have parentheses of its own.
        self.text = f"({source})"
        self.tree = ast.parse(self.text, mode="eval")
        self.lines = [0]
        for line in self.text.split("\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int:
        start = self.lines[line - 1]
        whole = self.text[start : self.lines[line] - 1]
        return start + len(whole.encode()[:column].decode(errors="ignore"))

    def start(self, node: ast.expr | ast.keyword) -> int:
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.keyword) -> int:
        return self.offset(node.end_lineno or 1, node.end_col_offset or 0)

    def words(self, node: ast.expr | ast.keyword) -> str:
        return self.text[self.start(node) : self.end(node)]

    def calls(self) -> list[ast.Call]:
        """Return the calls that are made exactly once when the expression is evaluated."""
        found: list[ast.Call] = []
        stack: list[ast.AST] = [self.tree]
        several = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
        for node in stack:
            if isinstance(node, ast.Call):
                found.append(node)
            if not isinstance(node, several | ast.IfExp | ast.BoolOp):
                stack.extend(ast.iter_child_nodes(node))
        return found

    def without(self, cuts: list[tuple[int, int]]) -> str:
        """Return the expression without some spans of it."""
        text = self.text
        for start, end in sorted(cuts, reverse=True):
            text = text[:start] + text[end:]
        return text[1:-1].strip()


def _name(call: ast.Call) -> str:
    func = call.func
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def _keyword_span(text: _Text, given: ast.keyword) -> tuple[int, int]:
    start, end = text.start(given), text.end(given)
    before = text.text[:start].rstrip()
    if before.endswith(","):
        return len(before) - 1, end
    after = re.match(r"\s*,\s*", text.text[end:])
    return start, end + (after.end() if after else 0)


def _flags(text: _Text) -> list[tuple[tuple[int, int], str]]:
    """Return where an expression sets the flag, and to what."""
    found: list[tuple[tuple[int, int], str]] = []
    for call in text.calls():
        name = _name(call)
        if name == _SETTER and isinstance(call.func, ast.Attribute):
            given = [*call.args, *(k.value for k in call.keywords if k.arg == "requires_grad")]
            if len(given) != len(call.args) + len(call.keywords) or len(given) > 1:
                continue
            name_at = text.end(call.func) - len(_SETTER)
            dot = text.text.rindex(".", 0, name_at)
            value = text.words(given[0]) if given else "True"
            found.append(((dot, text.end(call)), value))
        elif _MAKERS.match(name):
            found += [
                (_keyword_span(text, k), text.words(k.value))
                for k in call.keywords
                if k.arg == "requires_grad"
            ]
    return [(span, value) for span, value in found if value != "False"]


def bare(source: str) -> tuple[str, str, int]:
    """Take the flag out of an expression.

    Returns
    -------
    source : str
        Without ``requires_grad=True`` and ``.requires_grad_()``.
    value : str
        What the flag was set to; empty where it is not set, or not in a way that is known.
    count : int
        How often it was set.
    """
    try:
        text = _Text(source)
    except (SyntaxError, ValueError):
        return source, "", 0
    flags = _flags(text)
    values = {value for _, value in flags}
    left = text.without([span for span, _ in flags])
    if len(values) != 1 or re.search(r"requires_grad\s*=(?!\s*False)|\brequires_grad_\(", left):
        return source, "", 0
    try:
        _Text(left)
    except SyntaxError:
        return source, "", 0
    return left, values.pop(), len(flags)


def wrapped(source: str) -> str:
    """Rewrite ``Parameter(x) * 2`` as ``Parameter(x * 2)``; empty where that is not it."""
    try:
        text = _Text(source)
    except (SyntaxError, ValueError):
        return ""
    made = [call for call in text.calls() if _name(call) == "Parameter"]
    if len(made) != 1 or len(made[0].args) != 1 or isinstance(made[0].args[0], ast.Starred):
        return ""
    call = made[0]
    given = text.words(call.args[0])
    if not isinstance(call.args[0], _ATOMS):
        given = f"({given})"
    whole = text.text[: text.start(call)] + given + text.text[text.end(call) :]
    rest = "".join(f", {text.words(one)}" for one in call.keywords)
    new = f"{text.words(call.func)}({whole[1:-1].strip()}{rest})"
    try:
        ast.parse(new, mode="eval")
    except SyntaxError:
        return ""
    return new

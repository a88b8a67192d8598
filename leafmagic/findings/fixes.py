"""Code to paste, and edits: small rewrites of one expression or statement.

The functions that return edits return none where the text is not known, where the
statement is not a simple one, or where the result would not be Python.
"""

from __future__ import annotations

import ast
import re

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import texts

_FLAG = re.compile(r"(,\s*)?requires_grad\s*=\s*True\s*(,\s*)?")
_SETTER = re.compile(r"\.requires_grad_\((True)?\)")


def _parse(source: str) -> ast.expr | None:
    try:
        return ast.parse(source.strip(), mode="eval").body
    except SyntaxError:
        return None


def keyword(place: Place, name: str) -> str:
    """Return the source of a keyword argument; empty where there is none."""
    call = _parse(place.source)
    if isinstance(call, ast.Call):
        for given in call.keywords:
            if given.arg == name:
                return ast.unparse(given.value)
    return ""


def without_flag(source: str) -> str:
    """Remove ``requires_grad=True`` and ``.requires_grad_()`` from an expression."""

    def keep_one_comma(match: re.Match[str]) -> str:
        return ", " if match.group(1) and match.group(2) else ""

    return _FLAG.sub(keep_one_comma, _SETTER.sub("", source))


def chained(source: str, call: str) -> str:
    """Append a method call, with parentheses where the expression needs them."""
    node = _parse(source)
    whole = isinstance(node, ast.Call | ast.Attribute | ast.Name | ast.Subscript)
    return f"{source}.{call}" if whole else f"({source}).{call}"


def flag_last(place: Place, variable: str) -> str:
    """Rewrite ``x = make(requires_grad=True).reshape(...)`` to set the flag at the end."""
    fixed = chained(without_flag(place.source), "requires_grad_()")
    if place.returned:
        return f"return {fixed}"
    return f"{place.targets[0] if len(place.targets) == 1 else variable} = {fixed}"


def detached_leaf(place: Place, variable: str) -> str:
    """Rewrite ``x = x.to(...)`` so that ``x`` is a leaf again."""
    source = re.sub(
        rf"\b{re.escape(place.owner)}\b", f"{place.owner}.detach()", place.source, count=1
    )
    return f"{variable} = {chained(source, 'requires_grad_()')}"


def in_place_update(place: Place, variable: str, grad_enabled: bool) -> str:
    """Rewrite ``w = w - lr * w.grad`` as an update of the leaf itself."""
    node = _parse(place.source)
    guard = "with torch.no_grad(): " if grad_enabled else ""
    operators = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}
    if isinstance(node, ast.BinOp) and ast.unparse(node.left) == variable:
        operator = operators.get(type(node.op))
        if operator:
            rest = ast.get_source_segment(place.source, node.right) or ast.unparse(node.right)
            return f"{guard}{variable} {operator} {rest}"
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) == variable
        and node.func.attr in ("add", "sub", "mul", "div")
    ):
        start = len(variable) + 1 + len(node.func.attr)
        return f"{guard}{variable}.{node.func.attr}_{place.source[start:]}"
    return f"{guard}{variable}.copy_({place.source})"


def under_no_grad(place: Place) -> str:
    """Put a simple statement under ``torch.no_grad()``."""
    statement = place.statement or place.source
    if not statement:
        return "put this line under torch.no_grad()"
    guarded = f"with torch.no_grad(): {statement}"
    try:
        ast.parse(guarded)
    except SyntaxError:
        # The statement goes on below, or another begins on its line.
        return f"with torch.no_grad(): {place.source}"
    return guarded


def out_of_place(place: Place, variable: str) -> str:
    """Rewrite an in-place op as one that makes a new tensor."""
    try:
        statement = ast.parse(place.statement).body[0]
    except (SyntaxError, IndexError):
        statement = None
    if isinstance(statement, ast.AugAssign):
        operator = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}.get(
            type(statement.op)
        )
        if operator and ast.unparse(statement.target) == variable:
            value = ast.get_source_segment(place.statement, statement.value)
            if isinstance(statement.value, ast.BinOp):
                value = f"({value})"
            return f"{variable} = {variable} {operator} {value}"
    call = _parse(place.source)
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr.endswith("_")
        and call.func.attr not in ("zero_", "fill_", "copy_")
        and ast.unparse(call.func.value) == variable
    ):
        name = call.func.attr
        start = len(variable) + 1 + len(name)
        return f"{variable} = {variable}.{name[:-1]}{place.source[start:]}"
    return ""


# Edits.


def replace_expression(place: Place, new: str) -> tuple[Edit, ...]:
    """Put another expression in the place of one."""
    return texts.edited(place, texts.expression, new)


def replace_statement(place: Place, new: str) -> tuple[Edit, ...]:
    """Put other code in the place of the statement that an expression is in.

    Parameters
    ----------
    new : str
        One statement or more; its lines after the first are indented as the first is.
    """
    return texts.edited(place, texts.statement, new)


def insert_before(place: Place, new: str) -> tuple[Edit, ...]:
    """Put code on the line before the statement that an expression is in."""
    return texts.edited(place, texts.before, new)


def insert_after(place: Place, new: str) -> tuple[Edit, ...]:
    """Put code on the line after the statement that an expression is in."""
    return texts.edited(place, texts.after, new)


def wrap_statement(place: Place, head: str) -> tuple[Edit, ...]:
    """Put the statement that an expression is in under a head, ``with torch.no_grad():``."""
    return texts.edited(place, texts.wrapped, head)


def remove_statement(place: Place) -> tuple[Edit, ...]:
    """Take the statement that an expression is in away."""
    return texts.edited(place, texts.removal)


def together(*parts: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Add up the edits of one fix; if a part is missing there is none."""
    return tuple(edit for part in parts for edit in part) if all(parts) else ()

"""One expression in the place of another: the line to paste, and the edits."""

from __future__ import annotations

import ast
from typing import NamedTuple

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.texts import text_at

_LOOSE = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Lambda, ast.NamedExpr)
"""What needs parentheses inside of another expression."""


class Mend(NamedTuple):
    """What a finding says to do: code or words, and the same as edits."""

    fix: str
    edits: tuple[Edit, ...] = ()


def put(place: Place, by: str, note: str = "") -> Mend:
    """Put an expression in the place of one.

    Parameters
    ----------
    note : str
        A comment behind the line.
    """
    return Mend(replaced(place, by) + note, fixes.replace_expression(place, _fitting(place, by)))


def replaced(place: Place, by: str) -> str:
    """Return the line with another expression in place of one."""
    text = place.text.strip()
    if place.line != place.end_line or place.source not in text:
        return by
    if isinstance(parsed(by), _LOOSE) and text != place.source:
        by = f"({by})"
    return text.replace(place.source, by, 1)


def parsed(source: str) -> ast.expr | None:
    """Parse an expression; None if it is none."""
    try:
        return ast.parse(source.strip(), mode="eval").body
    except SyntaxError:
        return None


def _fitting(place: Place, by: str) -> str:
    """Put parentheses around an expression where it needs them."""
    text = text_at(place)
    node = text.node(place)
    above = None if node is None else next(text.source.parents(node), None)
    alone = isinstance(above, ast.stmt | ast.keyword) or (
        isinstance(above, ast.Call) and node in above.args
    )
    loose = isinstance(parsed(by), _LOOSE) and not alone
    return f"({by})" if loose or ("\n" in by and isinstance(above, ast.stmt)) else by

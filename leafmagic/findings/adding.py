"""What a statement adds to a sum, and the statement with a number in its place."""

from __future__ import annotations

import ast
import re

from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.findings.inline import Mend
from leafmagic.findings.rewrites import place_of_operand


def numbered(place: Place | None, name: str, number: str) -> Mend:
    """Let a statement add a number, or values, in place of what has a graph.

    Parameters
    ----------
    name : str
        The sum.
    number : str
        The call that gives it: ``item()`` or ``detach()``.
    """
    words = Mend(f"add .{number[:-2]}() to what is added to `{name}`")
    what = "" if place is None else addend(place, name)
    if place is None or not what or place.end_line != place.line:
        return words
    new = fixes.chained(what, number)
    if place.statement.count(what) == 1:
        line = place.statement.replace(what, new)
        return Mend(line, fixes.replace_statement(place, line)) if _is_code(line) else words
    # It is a part of another word, too, such as `loss` of `run_loss`.
    edits = fixes.replace_expression(place_of_operand(place, what), new)
    line = fixes.pasted(place, edits) if edits else ""
    return Mend(line, edits) if line else words


def addend(place: Place, name: str) -> str:
    """Return what a statement adds to a name; empty where that cannot be said."""
    known = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    others = [word for word in place.operands if not known.search(word)]
    whole = place.kind in ("AugAssign", "BinOp") and len(place.operands) == 2
    return others[0] if whole and len(others) == 1 and "\n" not in others[0] else ""


def _is_code(line: str) -> bool:
    try:
        ast.parse(line)
    except SyntaxError:
        return False
    return True


def with_operand(place: Place | None, old: str, new: str) -> str:
    """Return a statement with another operand, where it stands on one line."""
    statement = "" if place is None else place.statement
    if not new or statement.count(old) != 1 or place is None or place.end_line != place.line:
        return ""
    line = statement.replace(old, new)
    return line if _is_code(line) else ""

"""The lines that switch ``requires_grad`` off, or on, and the code without them."""

from __future__ import annotations

import ast

from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.findings.flows import names_in, origins
from leafmagic.findings.guards import node_at
from leafmagic.findings.inline import Mend
from leafmagic.findings.reaching import children_of
from leafmagic.findings.source import Function, Source
from leafmagic.findings.texts import text_at
from leafmagic.model import Model
from leafmagic.records import TensorRecord

_MOST = 5_000
_SETTERS = ("requires_grad_", "set_requires_grad")


def froze(record: TensorRecord, model: Model) -> Place | None:
    """Return where a leaf was frozen, be it by an earlier trace; None if it is not, or unseen."""
    if record.requires_grad or not record.is_leaf:
        return None
    flagged = [moment for moment in record.flagged if moment.what in _SETTERS]
    if flagged:
        return model.place(flagged[-1].site)
    known = model.session.frozen.get(record.tid)
    if known is None or known.line is None:
        return None
    label = model.session.label(known.run) or known.label
    return Place("", label, "<module>", known.line, known.line, text=known.source)


def thawed(place: Place, whole: str) -> Mend:
    """Return the freezing line with True in the place of its False.

    A function that freezes what it is given is left alone: its call is the mistake.

    Parameters
    ----------
    whole : str
        The tensor or the module that is to require grad.
    """
    words = Mend(f"{whole}.requires_grad_(True)  # before the forward pass")
    text = text_at(place)
    node = text.node(place) or node_at(text.source, place)
    if node is None:
        return words
    statement = text.source.statement(node)
    if _is_given(text.source, statement):
        return words
    values = [value for part in ast.walk(statement) if (value := _false(part)) is not None]
    if len(values) != 1:
        return words
    edits = fixes.replace_expression(text.source.place(values[0]), "True")
    line = fixes.pasted(text.source.place(statement), edits) if edits else ""
    return Mend(line or words.fix, edits)


def unforced(mend: Mend, below: TensorRecord, model: Model) -> Mend:
    """Take away the lines that made a leaf of what comes after a cut: with a graph torch refuses.

    Parameters
    ----------
    mend : Mend
        What takes the cut away.
    below : TensorRecord
        The result of the cut.
    """
    for place in _forced(below, model):
        edits = fixes.together(mend.edits, fixes.remove_statement(place))
        mend = Mend(f"{mend.fix}; and delete line {place.line}, `{place.text.strip()}`", edits)
    return mend


def _forced(below: TensorRecord, model: Model) -> list[Place]:
    """Return the statements that set the flag of what was computed from a tensor."""
    children, queue, seen = children_of(model), [below], {below.index}
    found: dict[tuple[str, int], Place] = {}
    for record in queue:
        place = model.place(record.flagged[-1].site) if record.flagged else None
        if place is not None and record.is_leaf and record.requires_grad:
            statement = text_at(place).statement(place)
            if isinstance(statement, ast.Expr) or _sets_flag(statement):
                found[place.filename, place.line] = place
        for child in children.get(record.index, ()):
            if child.index not in seen and len(seen) < _MOST:
                seen.add(child.index)
                queue.append(child)
    return list(found.values())


def _sets_flag(statement: ast.AST | None) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(isinstance(one, ast.Attribute) and one.attr == "requires_grad" for one in targets)


def _is_given(source: Source, statement: ast.AST) -> bool:
    """Tell whether what a statement freezes came into its function as an argument."""
    around = source.function(statement)
    if not isinstance(around, Function) or around.name == "__init__":
        return False
    given = around.args
    arguments = {a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    names = names_in([statement])
    behind = origins(source, names)
    first, last = around.lineno, around.end_lineno or around.lineno
    inside = [flow for flow in behind if first <= flow.line <= last]
    return bool(arguments & names.union(*(flow.used for flow in inside)))


def _false(node: ast.AST) -> ast.Constant | None:
    """Return the False that a piece of code sets ``requires_grad`` to."""
    value: ast.AST | None = None
    if isinstance(node, ast.Assign):
        value = node.value if _sets_flag(node) else None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        value = given[0] if node.func.attr == "requires_grad_" and given else None
    return value if isinstance(value, ast.Constant) and value.value is False else None

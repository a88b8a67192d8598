"""The line that switched ``requires_grad`` off, and the code that switches it on again."""

from __future__ import annotations

import ast

from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.findings.flows import names_in, origins
from leafmagic.findings.guards import node_at
from leafmagic.findings.inline import Mend
from leafmagic.findings.source import Function, Source
from leafmagic.findings.texts import text_at
from leafmagic.model import Model
from leafmagic.records import TensorRecord

_SETTERS = ("requires_grad_", "set_requires_grad")


def froze(record: TensorRecord, model: Model) -> Place | None:
    """Return where a leaf was frozen; None if it is not, or if that was not seen."""
    if record.requires_grad or not record.is_leaf:
        return None
    flagged = [moment for moment in record.flagged if moment.what in _SETTERS]
    return model.place(flagged[-1].site) if flagged else None


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
        named = [target for target in node.targets if isinstance(target, ast.Attribute)]
        value = node.value if any(one.attr == "requires_grad" for one in named) else None
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        value = given[0] if node.func.attr == "requires_grad_" and given else None
    return value if isinstance(value, ast.Constant) and value.value is False else None

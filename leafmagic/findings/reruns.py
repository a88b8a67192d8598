"""Names that an update of an earlier run has turned from a leaf into a non-leaf."""

from __future__ import annotations

import ast
import dataclasses
import re

from leafmagic.cell import Place
from leafmagic.findings.source import source_at
from leafmagic.findings.whence import whence
from leafmagic.model import Model
from leafmagic.records import TensorRecord

_READ = re.compile(r"([A-Za-z_][\w.]*)\.grad\b")
_NODES = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div"}


def former_update(
    model: Model, record: TensorRecord, read: Place, variable: str
) -> tuple[Place, str] | None:
    """Return the update that an earlier run made a tensor with, and the name in it.

    Parameters
    ----------
    record : TensorRecord
        Whose gradient is read; of `variable`.
    read : Place
        Of the read, which is often in the very line of the update, run once more.
    """
    if record.is_leaf or record.made.site or not variable:
        return None
    known = whence(model, record)
    here = _around(read, variable)
    if known is None:
        # Nothing saw it made: its graph has to end in the op of the update.
        ends = here is not None and _ends_in(model, record, here[1])
        return (here[0], variable) if here is not None and ends else None
    if here is not None and (known.line, known.statement) == (read.line, read.text.strip()):
        return here[0], variable
    source = _update_in(known.statement, variable)
    return (dataclasses.replace(known, source=source), variable) if source else None


def is_left_over(model: Model) -> bool:
    """Tell whether this run goes on from what an update of an earlier one made."""
    for record in model.slots.records:
        if record.is_leaf or record.made.site:
            continue
        made = model.session.made.get(record.tid)
        value = None if made is None else _value_of(made.source)
        read = [] if made is None else _READ.findall(made.source)
        if value is not None and any(_is_update(value, word) for word in read):
            return True
    return False


def _around(read: Place, variable: str) -> tuple[Place, ast.expr] | None:
    """Return the new value that a line computes from a variable and its gradient."""
    source = source_at(read)
    for node in source.within(read.line, read.line):
        if not isinstance(node, ast.Assign | ast.Return) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else []
        own = [source.words(target) for target in targets]
        if _is_update(node.value, variable) and own in ([variable], []):
            place = source.place(node.value)
            place = dataclasses.replace(place, targets=tuple(own), returned=not own)
            return place, node.value
    return None


def _is_update(value: ast.expr, variable: str) -> bool:
    """Tell whether a value is computed from a variable and the gradient of that."""
    words = ast.unparse(value)
    name = rf"(?<![\w.]){re.escape(variable)}"
    # The sign of a gradient makes an adversarial example: data, not a weight.
    signed = re.search(r"\bsign\b", words) is not None
    read = re.search(rf"{name}\.grad\b", words) is not None
    itself = re.search(rf"{name}(?!\w|\.grad\b|\[)", words) is not None
    return read and itself and not signed


def _update_in(statement: str, variable: str) -> str:
    """Return the new value in the line of an earlier cell; empty where it is no update."""
    value = _value_of(statement)
    begins = statement.replace(" ", "").startswith(f"{variable}=")
    if value is None or not begins or not _is_update(value, variable):
        return ""
    return ast.get_source_segment(statement, value) or ""


def _value_of(statement: str) -> ast.expr | None:
    """Return what a line binds to a single name, or returns."""
    try:
        body = ast.parse(statement).body
    except SyntaxError:
        return None
    first = body[0] if body else None
    if isinstance(first, ast.FunctionDef):
        first = first.body[-1]
    if isinstance(first, ast.Return):
        return first.value
    return first.value if isinstance(first, ast.Assign) and len(first.targets) == 1 else None


def _ends_in(model: Model, record: TensorRecord, value: ast.expr) -> bool:
    """Tell whether the newest op of a graph is the one that an expression does last."""
    node = model.nodes.get(record.nid)
    if node is None:
        return False
    word = _NODES.get(type(value.op), "") if isinstance(value, ast.BinOp) else ""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        word = value.func.attr.capitalize()
    return bool(word) and node.seen.name.startswith(f"{word}Backward")

"""Writes to a leaf: which leaf it is, and what to write instead."""

from __future__ import annotations

import ast
from typing import Any

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes, flagging, rewrites, unwritten
from leafmagic.findings.leaves import leaves_behind, made_at
from leafmagic.findings.texts import Text, indented, text_at, under
from leafmagic.model import Model
from leafmagic.records import TensorRecord

Fix = tuple[str, tuple[Edit, ...]]

_HEAD = "with torch.no_grad():"
_STEP = "    "
_NEAR = 60
_GIVEN = frozenset({"copy_", "lerp_"})
"""Calls that give a weight other values: under no_grad they do what they are meant to do."""

_COPIED = frozenset({"clone", "detach", "deepcopy", "copy", "empty_like", "Parameter"})
"""What makes a leaf that stands for another weight, such as the average of one."""

_ONE_MEMORY = frozenset({"expand", "expand_as", "broadcast_to"})
"""Ops whose result has several elements in one place: torch does not write to it at all."""


def leaf_under(model: Model, record: TensorRecord) -> TensorRecord | None:
    """Return the trainable leaf that a write to a tensor would change.

    A leaf may itself be a view, of a tensor that does not require grad: of what
    ``torch.ones(6).view(2, 3).requires_grad_()`` makes no other name need be known.
    """
    base = model.tensor(record.seen.base)
    if base is not None and base.is_leaf and base.requires_grad:
        # A view that was taken under no_grad says that it is a leaf, too.
        return base if record.requires_grad else None
    if not record.requires_grad or (base is not None and base.requires_grad):
        return None  # Of a computed tensor: its views are no leaves.
    if record.is_leaf:
        return record if base is not None or record.seen.base < 0 else None
    if record.seen.base < 0:
        return None
    root = model.root(record)
    above = model.ancestors(record.tid, _NEAR)
    return next((r for r in above if r.is_leaf and r.requires_grad and model.root(r) == root), None)


def way(event: Any, model: Model, place: Place | None, leaf: TensorRecord, variable: str) -> Fix:
    """Return what to do instead of a write, with its edits.

    Parameters
    ----------
    event : WriteAttempted or Raised
    leaf : TensorRecord
        What is written.
    variable : str
        What the cell calls it.
    """
    fix: Fix = "", unwritten.NONE
    if place is None:
        return fix
    if unwritten.is_used(place, variable):
        # Under no_grad what is computed would have no graph.
        fix = unwritten.without_writing(place, variable)
    elif is_computation(event, model, leaf):
        fix = _unflagged(model, place, leaf, variable)
    return fix if fix[0] else _guarded(model, place, leaf, variable)


def is_computation(event: Any, model: Model, leaf: TensorRecord) -> bool:
    """Tell whether a write puts into a leaf what a pass is to go through, as ``loss += ...``.

    An update is made of the gradient, or of the weight itself; an average and an
    initialisation give a weight the values of another.
    """
    if leaf.seen.parameter or leaf.path or event.op in _GIVEN or leaf.made.what in _COPIED:
        return False
    wrote = event.inputs[:1] if not hasattr(event, "wrote") else event.wrote
    for tid in event.inputs:
        value = model.tensor(tid)
        if tid in wrote or value is None or not value.requires_grad or value.nid < 0:
            continue
        if model.root(value) == model.root(leaf):
            continue
        above = [value, *model.ancestors(value.tid, _NEAR)]
        if any(record.tid in model.grad_values for record in above):
            continue
        if any(other is not leaf for other in leaves_behind(model, value)):
            return True
    return False


def _unflagged(model: Model, place: Place, leaf: TensorRecord, variable: str) -> Fix:
    """Make the tensor without its flag, which what is written to it brings along."""
    made = made_at(model, leaf)
    source = "" if made is None else fixes.words(made)
    bare, flag, _ = flagging.bare(source) if source else ("", "", 0)
    if made is not None and flag:
        told = f"{made.targets[0]} = {bare}" if len(made.targets) == 1 else bare
        note = f"  # in line {made.line}: what is written to it brings the graph"
        edits = fixes.replace_expression(made, bare) if made.label == place.label else ()
        return told + note, edits
    at = model.place(leaf.flagged[-1].site) if leaf.flagged else None
    if at is not None and (rewrites.is_statement(at) or at.kind == "Attribute"):
        edits = fixes.remove_statement(at) if at.label == place.label else ()
        what = at.statement or at.source
        return f"delete line {at.line}, {what}: what is written to it brings the graph", edits
    new = fixes.out_of_place(place, variable)
    if new:
        return new, rewrites.new_tensor(place, variable)
    return f"make `{variable}` without requires_grad: what is written to it brings the graph", ()


def _guarded(model: Model, place: Place, leaf: TensorRecord, variable: str) -> Fix:
    """Put a write under no_grad, with those to the same leaf that follow it."""
    edits = _together(model, place, variable) or fixes.wrap_statement(place, _HEAD)
    text = text_at(place)
    found = text.statement(place)
    row = None if found is None else text.row(found)
    shared = row is not None and (len(row.statements) > 1 or row.below)
    fix = (fixes.pasted(place, edits) if shared else "") or fixes.under_no_grad(place)
    same = [leaf, *model.ancestors(leaf.tid, _NEAR)] if leaf.seen.base >= 0 else []
    same = [record for record in same if model.root(record) == model.root(leaf)]
    if any(record.made.what in _ONE_MEMORY for record in same):
        made = made_at(model, leaf)
        bare, flag, _ = flagging.bare(fixes.words(made)) if made is not None else ("", "", 0)
        note = f"give `{variable}` memory of its own, with .clone() before it requires grad"
        if made is None or made.label != place.label:
            return f"{fix}  # and {note}", ()
        again = fixes.chained(bare, "clone()") + (".requires_grad_()" if flag else "")
        both = fixes.together(fixes.replace_expression(made, again), edits)
        return f"{fix}  # and {note}: {again}", both
    return fix, edits


def _together(model: Model, place: Place, variable: str) -> tuple[Edit, ...]:
    """Put a write and those to the same leaf right behind it under one head."""
    text = text_at(place)
    found = text.statement(place)
    if found is None:
        return ()
    block = text.block(found)
    first = last = block.index(found)
    for other in block[first + 1 :]:
        if not _writes(text, other, variable) or _reads_a_graph(model, place, text, other):
            break
        last += 1
    if last == first:
        return ()
    row = text.row(found)
    if len(row.statements) == 1 and not row.below:
        rows = [text.row(other) for other in block[first : last + 1]]
        if all(len(one.statements) == 1 for one in rows):
            return under(text, _HEAD, found, block[last])
    group = [other for other in row.statements if other in block[first : last + 1]]
    if len(group) < 2:
        return ()
    inner = [f"{_STEP}{indented(text.words(other), _STEP)}" for other in group]
    where = row.statements.index(group[0])
    lines = [text.words(other) for other in row.statements[:where]]
    lines += [_HEAD, *(part for one in inner for part in one.split("\n"))]
    lines += [text.words(other) for other in row.statements[where + len(group) :]]
    start, end = text.start(row.statements[0]), text.end(row.statements[-1])
    new = ("\n" + row.indent).join(lines)
    if row.below:
        head = text.lines[start[0] - 1][: start[1]].rstrip()
        start, new = (start[0], len(head)), "\n" + row.indent + new
    return text.checked((text.edit(start, end, new),))


def _writes(text: Text, statement: ast.stmt, variable: str) -> bool:
    """Tell whether a statement does nothing but write to a leaf."""
    target: ast.AST | None = None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if not isinstance(target, ast.Subscript):
            return False
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        func = statement.value.func
        if isinstance(func, ast.Attribute) and func.attr.endswith("_"):
            target = func.value
    while isinstance(target, ast.Subscript) and text.words(target) != variable:
        target = target.value
    return target is not None and text.words(target) == variable


def _reads_a_graph(model: Model, place: Place, text: Text, statement: ast.stmt) -> bool:
    """Tell whether a statement may read a tensor that requires grad, other than what it writes."""
    written = {id(node) for node in _targets(statement)}
    for node in ast.walk(statement):
        if not isinstance(node, ast.Name) or id(node) in written:
            continue
        above = next(text.source.parents(node), None)
        if isinstance(above, ast.Attribute) and above.attr in ("grad", "data"):
            continue
        names = ((place.scope, node.id), ("", node.id))
        record = next((model.tensor(model.names[n]) for n in names if n in model.names), None)
        if record is not None and record.requires_grad:
            return True
    return False


def _targets(statement: ast.stmt) -> list[ast.AST]:
    """Return the nodes of what a statement writes to."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return list(ast.walk(statement.value.func))
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    return [] if target is None else list(ast.walk(target))

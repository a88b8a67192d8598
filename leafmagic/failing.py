"""Which boxes the error that ended the traced code came from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from leafmagic.graph import Node
from leafmagic.looks import Raised, told
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import NodeRecord, Pass, TensorRecord

_BACKWARD = ("backward", "grad")
_BLAMED = re.compile(r"\bFunction '?(\w*Backward\w*)'? returned\b")


def mark_failed(model: Model, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the boxes of a graph, those marked that the error came from."""
    failed = failed_ids(model)
    if not failed:
        return nodes
    return tuple(replace(node, failed=True) if node.id in failed else node for node in nodes)


def failed_ids(model: Model) -> set[str]:
    """Return the ids of the boxes that the error came from which ended the code.

    Of an op that raised these are the tensors that it was given, of a backward pass the
    node that torch blames, or else what the pass began at. Of what raised elsewhere, and
    of an interrupt, it is the newest op of that line. Empty where the code did not raise,
    or caught what did.
    """
    raised = model.raised
    if raised is None or not model.error or model.error != told(raised.error, raised.text):
        return set()
    if raised.op in _BACKWARD:
        return _of_pass(model, raised, raised.inputs)
    if raised.inputs:
        return _given(model, raised.inputs)
    if raised.op:
        return set()
    running = model.passes[-1] if model.passes else None
    if running is not None and running.failed and _is_newest(model, running, raised):
        return _of_pass(model, raised, running.roots)
    return _of_line(model, raised.site)


def _of_pass(model: Model, raised: Raised, roots: tuple[int, ...]) -> set[str]:
    blamed = [model.nodes.get(nid) for nid, _, _ in raised.culprits]
    if raised.blamed:
        blamed.append(model.nodes.get(raised.blamed))
    if not any(blamed):
        found = _BLAMED.search(raised.text)
        behind = reach(model, roots).nodes if found is not None else ()
        alike = [node for node in behind if found is not None and node.seen.name == found[1]]
        # The name alone does not tell which, where there are more of them.
        blamed = [*alike] if len(alike) == 1 else []
    ids = {one for node in blamed if node is not None for one in _box_of(model, node)}
    return ids or {one for tid in roots for one in _boxes_of(model, tid)}


def _given(model: Model, tids: Iterable[int]) -> set[str]:
    """Return the boxes of what an op was given: of what has a name, if anything has."""
    records = [record for tid in tids if (record := model.tensors.get(tid)) is not None]
    named = [record for record in records if record.names or record.path]
    return {one for record in named or records for one in _boxes_of(model, record.tid)}


def _is_newest(model: Model, running: Pass, raised: Raised) -> bool:
    """Tell whether a pass was what ran when the error came."""
    made = (node.made.ordinal for node in model.slots.node_records)
    return running.finished < raised.ordinal and running.finished > max(made, default=0)


def _of_line(model: Model, site: int) -> set[str]:
    """Return the boxes of the newest op of a line."""
    place = model.place(site)
    if place is None:
        return set()
    newest: NodeRecord | TensorRecord | None = None
    records: list[NodeRecord | TensorRecord] = [*model.slots.node_records, *model.slots.records]
    for record in records:
        if newest is not None and record.made.ordinal < newest.made.ordinal:
            continue
        where = model.place(record.made.site) if record.made.what else None
        if where is None or where.filename != place.filename:
            continue
        if where.line <= place.end_line and place.line <= where.end_line:
            newest = record
    if newest is None:
        return set()
    if isinstance(newest, TensorRecord):
        return _boxes_of(model, newest.tid)
    return _box_of(model, newest)


def _boxes_of(model: Model, tid: int) -> set[str]:
    """Return the ids of a tensor, and of the op that made it."""
    record = model.tensors.get(tid)
    if record is None:
        return set()
    node = model.nodes.get(record.nid)
    return {record.id} if node is None else {record.id, node.id}


def _box_of(model: Model, node: NodeRecord) -> set[str]:
    """Return the ids of an op, and of the tensors that it made."""
    return {node.id, *(one.id for one in model.slots.records if one.nid == node.nid)}

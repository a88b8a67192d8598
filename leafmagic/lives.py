"""From the model of a trace to what the next ones should know: what lives, and what ran over it."""

from __future__ import annotations

from collections.abc import Iterable

from leafmagic.bygone import NodeAt, Operand, WroteAt
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import NodeRecord, Pass, TensorRecord, any_current, best_name
from leafmagic.session import MadeAt, PassOver

_MOST_VISITED = 30_000
"""So many nodes are looked at when a trace ends, and no more."""

_MOST_DESCRIBED = 5_000
"""So many nodes are described for the next trace."""


def take_down(model: Model, live: Iterable[int]) -> None:
    """Tell the session of the tensors that live on when a trace ends.

    Parameters
    ----------
    live : iterable of int
        Their tids.
    """
    known: list[tuple[int, TensorRecord]] = []
    for tid in live:
        record = model.tensors.get(tid)
        if record is not None and record.tid == tid:
            known.append((tid, record))
    # What has a name first: there is a limit.
    known.sort(key=lambda pair: not any_current(pair[1]))
    behind: dict[int, NodeRecord] = {}
    visited = 0
    for tid, record in known:
        nodes: tuple[NodeRecord, ...] = ()
        if record.requires_grad and not record.is_leaf and visited < _MOST_VISITED:
            nodes = reach(model, (tid,)).nodes
            visited += len(nodes)
        behind.update((node.nid, node) for node in nodes)
        model.session.learn(tid, made_at(model, record), [node.nid for node in nodes])
        _learn_flag(model, record)
    model.session.learn_passes(_passed(model, behind))
    model.session.bygone.learn(_nodes(model, behind), _writes(model))


def _nodes(model: Model, behind: dict[int, NodeRecord]) -> dict[int, NodeAt]:
    """Return where nodes were made that this trace saw being made, and what they may have saved."""
    # Only the first node of an op has what the op was called with.
    called: dict[tuple[int, int], NodeRecord] = {}
    for node in behind.values():
        if node.inputs:
            called.setdefault((node.made.site, node.made.ordinal), node)
    operands: dict[tuple[int, int], tuple[Operand, ...]] = {}
    found: dict[int, NodeAt] = {}
    for nid, node in behind.items():
        place = model.place(node.made.site) if node.made.what else None
        if place is None or nid in model.session.bygone.nodes:
            continue
        key = node.made.site, node.made.ordinal
        if key not in operands:
            operands[key] = _operands(model, called.get(key, node))
        found[nid] = NodeAt(model.run, node.made.ordinal, place, operands[key])
        if len(found) >= _MOST_DESCRIBED:
            break
    return found


def _operands(model: Model, node: NodeRecord) -> tuple[Operand, ...]:
    found = [_operand(model, tid, made=False) for tid in node.inputs]
    found += [_operand(model, tid, made=True) for tid in node.outputs if tid not in node.inputs]
    return tuple([one for one in found if one is not None])


def _operand(model: Model, tid: int, *, made: bool) -> Operand | None:
    record = model.tensors.get(tid)
    if record is None or record.tid != tid:
        return None
    shape = tuple([int(size) for size in record.seen.shape])
    grad, root = record.requires_grad, model.root(record)
    return Operand(tid, root, best_name(record), shape, made, grad, grad and record.is_leaf)


def _writes(model: Model) -> dict[int, list[WroteAt]]:
    """Return the writes of this trace, by the tensor whose memory it is, in order."""
    found: dict[int, list[WroteAt]] = {}
    for record in model.slots.records:
        for write in record.writes:
            place = model.place(write.site)
            if place is not None:
                wrote = WroteAt(model.run, write.ordinal, place, write.what)
                found.setdefault(model.root(record), []).append(wrote)
    for wrote_to in found.values():
        wrote_to.sort(key=lambda one: one.ordinal)
    return found


def _learn_flag(model: Model, record: TensorRecord) -> None:
    """Take down where a leaf was frozen, or that it is not any more."""
    if record.requires_grad:
        model.session.frozen.pop(record.tid, None)
        return
    place = model.place(record.flagged[-1].site) if record.flagged and record.is_leaf else None
    if place is not None:
        model.session.frozen[record.tid] = MadeAt(
            model.run, best_name(record), record.path, place.label, place.line, place.text.strip()
        )


def _passed(model: Model, behind: dict[int, NodeRecord]) -> dict[int, PassOver]:
    """Return the newest pass over each of some nodes."""
    found: dict[int, PassOver] = {}
    visited = 0
    for one in reversed(model.passes):
        if not one.finished or one.failed:
            continue
        if visited > _MOST_VISITED or len(found) == len(behind):
            break
        over = pass_over(model, one)
        for node in reach(model, one.roots).nodes:
            visited += 1
            if node.nid in behind and node.made.ordinal < one.finished:
                found.setdefault(node.nid, over)
    return found


def pass_over(model: Model, one: Pass) -> PassOver:
    """Describe a pass of this trace for those that come after it."""
    place = model.place(one.site)
    label, line, text = ("", None, "") if place is None else (place.label, place.line, place.text)
    return PassOver(model.run, one.what, label, line, text.strip(), one.retain_graph, one.finished)


def made_at(model: Model, record: TensorRecord) -> MadeAt | None:
    """Return where a tensor was made; None where this trace did not see it."""
    name = best_name(record)
    path = record.path
    place = model.place(record.made.site)
    if place is not None:
        return MadeAt(model.run, name, path, place.label, place.line, place.text.strip())
    bound = next((known for known in record.names if known.line is not None), None)
    if bound is None:
        return None
    return MadeAt(model.run, name, path, bound.label, bound.line, bound.source)

"""Rounds of a loop without backward, of which the newest comes to stand for all."""

from __future__ import annotations

from leafmagic.events import RoundFolded
from leafmagic.folding import Slots
from leafmagic.records import NodeRecord, OpSlot, TensorRecord

_FACTS = (
    "tid", "nid", "seen", "inputs", "requires_grad", "is_leaf", "retains_grad", "version",
    "hooks", "grad_enabled", "alias", "writes", "hooked", "flagged", "retained", "has_grad",
    "old_grad", "grad_norm", "used", "touched",
)  # fmt: skip


def fold_round(slots: Slots, event: RoundFolded) -> None:
    """Let the slots of an op's first round take over those of its newest.

    While the second round runs, the first is still alive, so each has slots of its own.
    When the first is found to be gone, the boxes stay that are known already.
    """
    found = slots.ops.get((event.site, event.op), [])
    first, length, size = event.first, event.length, event.size
    for at in range(first + size, min(length, len(found))):
        to, newer = first + (at - length) % size, found[at]
        kept = found[to]
        if newer is not None:
            found[to] = newer if kept is None else _take_over(slots, kept, newer)
    del found[first + size :]


def _take_over(slots: Slots, kept: OpSlot, newer: OpSlot) -> OpSlot:
    """Return the slot that stands for both."""
    alike = len(kept.tensors) == len(newer.tensors) and len(kept.nodes) == len(newer.nodes)
    if alike:
        kept.made.ordinal = newer.made.ordinal
        for old, new in zip(kept.tensors, newer.tensors, strict=True):
            _take_tensor(slots, old, new)
        for node, behind in zip(kept.nodes, newer.nodes, strict=True):
            _take_node(slots, node, behind)
    gone = newer if alike else kept
    for tensor in gone.tensors:
        tensor.merged = True
    for other in gone.nodes:
        other.merged = True
    return kept if alike else newer


def _take_tensor(slots: Slots, old: TensorRecord, new: TensorRecord) -> None:
    if slots.tensors.get(old.previous) is old:
        del slots.tensors[old.previous]
    previous = old.tid
    if old.seen.shape != new.seen.shape:
        old.varies(new.seen.shape)
    for fact in _FACTS:
        setattr(old, fact, getattr(new, fact))
    old.previous = previous
    old.count += new.count
    known = {(name.scope, name.name, name.line): name for name in (*old.names, *new.names)}
    old.names, new.names = list(known.values()), []
    slots.tensors[new.tid] = old


def _take_node(slots: Slots, old: NodeRecord, new: NodeRecord) -> None:
    if slots.nodes.get(old.previous) is old:
        del slots.nodes[old.previous]
    old.previous, old.nid, old.seen = old.nid, new.nid, new.seen
    old.inputs, old.outputs = new.inputs, new.outputs
    old.count += new.count
    slots.nodes[new.nid] = old

"""What an op that runs again is called with: where its edges lead when that is something else."""

from __future__ import annotations

from collections.abc import Mapping

from leafmagic.records import Link, OpSlot, TensorRecord

Tensors = Mapping[int, TensorRecord]


def links_by_inputs(tensors: Tensors, inputs: tuple[int, ...]) -> list[Link]:
    """Return the links of an op that is one node.

    Its edges are read from torch once; in a later step they are those of its inputs.
    """
    found = [(tid, tensors.get(tid)) for tid in inputs]
    return [
        Link(record, record.seen.output_nr, record.tid != tid)
        for tid, record in found
        if record is not None and record.requires_grad
    ]


def tracked(tensors: Tensors, inputs: tuple[int, ...]) -> tuple[int, ...]:
    """Return the indices of the inputs that edges lead to."""
    records = [tensors.get(tid) for tid in inputs]
    return tuple([r.index for r in records if r is not None and r.requires_grad])


def moved_links(tensors: Tensors, slot: OpSlot, inputs: tuple[int, ...]) -> list[list[Link]]:
    """Return the new links of the nodes of an op; nothing where they stay as they are.

    What comes and goes without a gradient, such as the batch, moves no edge. Where an op is
    several nodes, a leaf in place of another takes its place behind each of them, and a state
    that has a graph from the second step on comes to what is there.
    """
    now = tracked(tensors, inputs)
    if now == slot.tracked or not slot.nodes:
        return []
    before, slot.tracked = slot.tracked, now
    links = links_by_inputs(tensors, inputs)
    first = slot.nodes[0].links
    if len(slot.nodes) == 1:
        return [links]
    if set(before) < set(now):
        return [[*first, *(link for link in links if link.to.index not in before)]]
    records = {record.index: record for tid in inputs if (record := tensors.get(tid)) is not None}
    pairs = [pair for pair in zip(before, now, strict=False) if pair[0] != pair[1]]
    if len(before) != len(now) or not all(records[new].is_leaf for _, new in pairs):
        return [links]
    leaves = {old: records[new] for old, new in pairs}
    return [
        [link._replace(to=leaves.get(_index(link), link.to)) for link in node.links]
        for node in slot.nodes
    ]


def _index(link: Link) -> int:
    """Return the index of the tensor that a link leads to; -1 for a node."""
    return link.to.index if isinstance(link.to, TensorRecord) else -1

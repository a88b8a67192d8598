"""What a backward pass from a tensor gets to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from leafmagic.records import NodeRecord, TensorRecord


class Reach(NamedTuple):
    """What lies behind the roots of a backward pass.

    Attributes
    ----------
    nodes : tuple of NodeRecord
        In the order in which they were come to, the roots' first.
    leaves : tuple of TensorRecord
        The leaves that would get a gradient.
    """

    nodes: tuple[NodeRecord, ...]
    leaves: tuple[TensorRecord, ...]


class Recorded(Protocol):
    """A model, or what else has the records of a trace."""

    @property
    def tensors(self) -> dict[int, TensorRecord]:
        """By tid."""
        ...

    @property
    def nodes(self) -> dict[int, NodeRecord]:
        """By nid."""
        ...


def reach(model: Recorded, roots: Iterable[int]) -> Reach:  # noqa: C901 - one walk
    """Follow the edges of the graph, from tensors down to the leaves.

    Parameters
    ----------
    roots : iterable of int
        tids; what is not known is left out.
    """
    nodes: dict[int, NodeRecord] = {}
    leaves: dict[int, TensorRecord] = {}
    queue: list[NodeRecord] = []
    for tid in roots:
        record = model.tensors.get(tid)
        if record is None or not record.requires_grad:
            continue
        node = model.nodes.get(record.nid)
        if node is not None:
            queue.append(node)
        elif record.is_leaf:
            leaves[record.index] = record
    for node in queue:
        if node.index in nodes:
            continue
        nodes[node.index] = node
        for link in node.links:
            if isinstance(link.to, NodeRecord):
                queue.append(link.to)
            elif link.to.is_leaf:
                leaves[link.to.index] = link.to
            else:
                behind = model.nodes.get(link.to.nid)
                if behind is not None:
                    queue.append(behind)
    return Reach(tuple(nodes.values()), tuple(leaves.values()))

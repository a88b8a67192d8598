"""The piece of graph that two backward passes have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import Link, NodeRecord, Pass, TensorRecord, best_name
from leafmagic.session import PassOver

_MOST_PASSES = 20
_MOST_NAMED = 400


class Child(NamedTuple):
    """Where an edge leads to: a node, its output, and whether an earlier step made it.

    `user` is the node that the edge begins at; None for a root.
    """

    node: NodeRecord
    output_nr: int
    carried: bool
    user: NodeRecord | None


class Piece(NamedTuple):
    """A piece of graph that an earlier pass ran over, as a later one comes to it.

    Attributes
    ----------
    node : NodeRecord
        The first of its nodes, seen from the later pass.
    carried : bool
        Whether it is what that node's place made in an earlier step.
    over : Pass or PassOver or None
        The earlier pass; None where only an earlier cell can have run it.
    record : TensorRecord or None
        The nearest tensor with a name, from that node on towards the leaves.
    users : tuple of NodeRecord
        The later pass's own nodes on the way to it, nearest first; none where it began there.
    """

    node: NodeRecord
    carried: bool
    over: Pass | PassOver | None
    record: TensorRecord | None
    users: tuple[NodeRecord, ...]

    @property
    def is_root(self) -> bool:
        """Tell whether the later pass began at the piece."""
        return not self.users


def pieces_run_over(
    model: Model, last: Pass, wanted: Callable[[Pass | PassOver], bool]
) -> list[Piece]:
    """Find what the graph of a pass has in common with that of earlier ones.

    Parameters
    ----------
    last : Pass
        The pass whose graph is looked at.
    wanted : callable
        Tells which earlier passes count.

    Returns
    -------
    list of Piece
        Those that are come to first; what lies behind them is left out.
    """
    earlier = [
        (one, {node.index for node in reach(model, one.roots).nodes})
        for one in reversed(model.passes[-_MOST_PASSES:])
        if one.finished and not one.failed and one.ordinal < last.ordinal and wanted(one)
    ]
    found: list[Piece] = []
    seen: set[tuple[int, bool, int]] = set()
    queue = list(_starts(model, last.roots))
    came_from: dict[int, NodeRecord] = {}
    for node, output_nr, carried, user in queue:
        if (node.index, carried, output_nr) in seen:
            continue
        seen.add((node.index, carried, output_nr))
        over: Pass | PassOver | None = next(
            (p for p, at in earlier if node.index in at and _was_there(node, p, carried)), None
        )
        if over is None and not carried:
            known = model.session.passed.get(node.nid)
            over = known if known is not None and known.run != model.run and wanted(known) else None
        if over is not None:
            named = nearest_named(model, node, output_nr)
            found.append(Piece(node, carried, over, named, _way_to(user, came_from)))
            continue
        if user is not None:
            came_from.setdefault(node.index, user)
        below = children(model, node)
        queue += [child._replace(carried=carried or child.carried) for child in below]
    return found


def _way_to(user: NodeRecord | None, came_from: dict[int, NodeRecord]) -> tuple[NodeRecord, ...]:
    """Return the nodes from one back to the root."""
    way: list[NodeRecord] = []
    seen: set[int] = set()
    while user is not None and user.index not in seen:
        seen.add(user.index)
        way.append(user)
        user = came_from.get(user.index)
    return tuple(way)


def _was_there(node: NodeRecord, one: Pass, carried: bool) -> bool:
    return carried or node.made.ordinal < one.finished


def _starts(model: Model, roots: Iterable[int]) -> Iterator[Child]:
    for tid in roots:
        record = model.tensors.get(tid)
        node = None if record is None else model.nodes.get(record.nid)
        if record is not None and node is not None:
            yield Child(node, record.seen.output_nr, False, None)


def children(model: Model, node: NodeRecord) -> Iterator[Child]:
    """Yield the nodes that a node's edges lead to, and whether an earlier step made them.

    What stands for something newer than the node itself was followed from an earlier step.
    """
    for link in node.links:
        behind = _node_behind(model, link)
        if behind is not None:
            carried = link.carried or behind.made.ordinal > node.made.ordinal
            yield Child(behind, link.output_nr, carried, node)


def walk_behind(model: Model, start: NodeRecord, most: int) -> Iterator[NodeRecord]:
    """Yield a node and so many of those that a graph leads to from it, the nearest first."""
    queue, seen = [start], {start.index}
    for node in queue:
        yield node
        for child in children(model, node):
            if child.node.index not in seen and len(queue) < most:
                seen.add(child.node.index)
                queue.append(child.node)


def _node_behind(model: Model, link: Link) -> NodeRecord | None:
    if isinstance(link.to, NodeRecord):
        return link.to
    return None if link.to.is_leaf else model.nodes.get(link.to.nid)


def nearest_named(model: Model, node: NodeRecord, output_nr: int = 0) -> TensorRecord | None:
    """Return the nearest computed tensor with a name, from a node on towards the leaves."""
    by_output: dict[tuple[int, int], TensorRecord] = {}
    for record in model.slots.records:
        if record.nid >= 0 and best_name(record):
            by_output[record.nid, record.seen.output_nr] = record
    queue = [Child(node, output_nr, False, None)]
    seen = {(node.index, output_nr)}
    for current in queue:
        record_here = by_output.get((current.node.nid, current.output_nr))
        if record_here is not None:
            return record_here
        for child in children(model, current.node):
            key = (child.node.index, child.output_nr)
            if key not in seen and len(queue) < _MOST_NAMED:
                seen.add(key)
                queue.append(child)
    return None


def older_pieces(model: Model, last: Pass) -> list[Piece]:
    """Return what a pass came to that was there before this trace began."""
    found: list[Piece] = []
    for node in reach(model, last.roots).nodes:
        if not node.made.site and not node.op:
            named = nearest_named(model, node)
            if named is not None and not named.made.site:
                found.append(Piece(node, False, None, named, ()))
    return found[:1]

"""Folding: what an op made in one step takes the slot of what it made in the step before.

A loop runs the same code again, so the records of a trace belong to places in the
code, not to runs of it. A step ends with a backward pass; within one step the same
place may run many times (an unrolled RNN), and each run has a slot of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import NodeSeen, OpCalled, OpRepeated, TensorSeen
from leafmagic.naming import NameBook
from leafmagic.operands import links_by_inputs, moved_links, tracked
from leafmagic.records import (
    Link,
    Moment,
    NodeRecord,
    OpSlot,
    TensorRecord,
    foreign_nodes,
    is_held,
    remember,
)

_ALIASING = frozenset({"detach", "data", "detach_", "numpy"})


class Slots:
    """The records of a trace, by the place in the code and the turn there.

    Parameters
    ----------
    place : callable
        From a site to its `Place`.

    Attributes
    ----------
    tensors, nodes : dict
        By tid and by nid. The number of the step before leads to the same record.
    records, node_records : list
        One for each slot, in the order in which the slots were made.
    book : NameBook
    ops : dict
        By site and op, the slots of its turns.
    newest_index : int
        The highest index of a record.
    moved : int
        Grows when an op's node comes to lead to something else than in the step before.
    """

    def __init__(self, place: Callable[[int], Place | None]) -> None:
        self.tensors: dict[int, TensorRecord] = {}
        self.nodes: dict[int, NodeRecord] = {}
        self.records: list[TensorRecord] = []
        self.node_records: list[NodeRecord] = []
        self.book = NameBook(self.tensors)
        self._place = place
        self._slots: dict[tuple[Any, ...], TensorRecord] = {}
        self._node_slots: dict[tuple[Any, ...], NodeRecord] = {}
        self.ops: dict[tuple[int, str], list[OpSlot | None]] = {}
        self.newest_index = 0
        self.moved = 0

    def at(self, site: int, op: str, _direct: bool, turn: int) -> TensorRecord | None:
        """Return the record of what an op makes, that does the same in each step."""
        slots = self.ops.get((site, op), ())
        slot = slots[turn] if turn < len(slots) else None
        return slot.tensors[0] if slot is not None and slot.tensors else None

    def op(self, event: OpCalled) -> None:
        """Take in an op."""
        slots = self.ops.setdefault((event.site, event.op), [])
        while len(slots) <= event.turn:
            slots.append(None)
        slot = slots[event.turn]
        if slot is None or not self._again(event, slot):
            slot = slots[event.turn] = self._first(event, event.turn)
        slot.operands = tuple([self._index(tid) for tid in event.inputs])
        tensors = self.tensors
        slot.tracked = tracked(tensors, event.inputs)
        for tid in event.inputs:
            record = tensors.get(tid)
            if record is not None:
                record.used = True
        for tid in event.wrote:
            self.wrote(tid, event)
        if slot.key is not None and event.outputs:
            self.book.output(event.site, event.direct, event.outputs[0], slot, event.ordinal)

    def repeated(self, event: OpRepeated) -> None:  # noqa: C901 - hot, and one thing
        """Take over the slot of an op that did the same again.

        Called instead of `feed`, for speed; most events of a long loop are of this type.
        """
        ordinal, site, op, _, inputs, turn, tid, nid, base, shape, before, times = event
        slot = self.ops[(site, op)][turn]
        if slot is None:
            return
        tensors = self.tensors
        record = slot.tensors[0]
        last = record.tid
        if last == tid:
            return
        # The one before the newest may still be referred to, by what is carried from
        # step to step; all older ones are let go.
        for old in (record.previous, last):
            if old != before:
                tensors.pop(old, None)
        tensors[before] = record
        seen = record.seen
        if base != seen.base or shape != seen.shape:
            if shape != seen.shape:
                record.varies(shape)
            record.seen = seen._replace(base=base, shape=shape)
        record.previous, record.tid, record.nid = before, tid, nid
        record.count += times
        record.inputs = inputs
        if record.touched:
            record.forget()
        if record.alias >= 0:
            record.alias = inputs[0]
        tensors[tid] = record
        slot.made.ordinal = ordinal
        if nid >= 0:
            node, nodes = slot.nodes[0], self.nodes
            nodes.pop(node.previous, None)
            node.previous, node.nid = node.nid, nid
            node.count += times
            node.inputs, node.outputs = inputs, (tid,)
            nodes[nid] = node
        for number, index in zip(inputs, slot.operands, strict=False):
            used = tensors.get(number)
            if used is None or used.index != index:
                self._moved(slot, inputs)
                break
        if slot.key is not None:
            self._name_again(slot, slot.key, last, event)

    def _name_again(self, slot: OpSlot, key: tuple[str, str], last: int, event: OpRepeated) -> None:
        """Let the name that a slot's output has in the source point to the newest one."""
        book, tid = self.book, event.tid
        held = book.names.get(key, -1)
        if held == last:
            book.names[key] = tid
            past = book.history[key]
            past[-1] = (tid, past[-1][1], event.ordinal)
            return
        old = self.tensors.get(held)
        after = -1 if old is None else old.index
        if after >= 0 and after == slot.after:
            # Taken over from the same slot as in the step before: all is noted already.
            book.names[key] = tid
            return
        book.output(event.site, event.direct, tid, slot, event.ordinal)
        slot.after = after

    def _moved(self, slot: OpSlot, inputs: tuple[int, ...]) -> None:
        """Note that an op was called with other tensors than in the step before."""
        for tid in inputs:
            record = self.tensors.get(tid)
            if record is not None:
                record.used = True
        indices = tuple([self._index(tid) for tid in inputs])
        if -1 in indices and len(indices) == len(slot.operands) and -2 not in slot.operands:
            # Carried from a step whose numbers are let go of by now: as it was before.
            return
        slot.operands = indices
        for node, links in zip(slot.nodes, moved_links(self.tensors, slot, inputs), strict=False):
            self._relink(node, links)

    def _again(self, event: OpCalled, slot: OpSlot) -> bool:  # noqa: C901 - one comparison
        """Take the slot over, if the op did what it did in the step before."""
        seen_tensors, seen_nodes = event.tensors, event.nodes
        if len(seen_tensors) != len(slot.tensors) or len(seen_nodes) != len(slot.nodes):
            return False
        outputs, tensors, nodes = event.outputs, self.tensors, self.nodes
        for seen in seen_tensors:
            if seen.tid not in outputs or seen.tid in tensors:
                return False
        for node, seen_node in zip(slot.nodes, seen_nodes, strict=True):
            if node.seen.name != seen_node.name or seen_node.nid in nodes:
                return False
        slot.made.ordinal = event.ordinal
        for record, seen in zip(slot.tensors, seen_tensors, strict=True):
            # The one before the last is let go; the last may still be referred to by
            # what is carried from step to step.
            if tensors.get(record.previous) is record:
                del tensors[record.previous]
            record.renew(seen)
            record.inputs = event.inputs
            record.grad_enabled = event.grad_enabled
            if record.alias >= 0:
                record.alias = event.inputs[0]
            tensors[seen.tid] = record
        for node, seen_node in zip(slot.nodes, seen_nodes, strict=True):
            if nodes.get(node.previous) is node:
                del nodes[node.previous]
            node.previous, node.nid = node.nid, seen_node.nid
            node.seen = seen_node
            node.count += 1
            if node.op:
                node.inputs, node.outputs = event.inputs, outputs
            nodes[seen_node.nid] = node
        for node in slot.nodes:
            self._link(node)
        return True

    def _first(self, event: OpCalled, turn: int) -> OpSlot:
        """Make a slot for an op that is new, or that did something else this time."""
        made = Moment(event.ordinal, event.site, event.op)
        slot = OpSlot(made)
        outputs = {tid: i for i, tid in enumerate(event.outputs)}
        for index, seen in enumerate(event.tensors):
            which = outputs.get(seen.tid)
            if which is None or seen.tid in event.inputs:
                place_in = event.inputs.index(seen.tid) if seen.tid in event.inputs else -index - 1
                # A parameter is first seen where its module initializes it.
                first = Moment(event.ordinal, event.site) if which is not None else None
                self._add_tensor(
                    seen,
                    ("in", event.site, event.op, turn, place_in),
                    first if seen.parameter and not event.direct else None,
                    event.ordinal,
                )
            else:
                key = (event.site, event.op, turn, which)
                slot.tensors.append(self._add_tensor(seen, key, made, event.ordinal))
                self._describe_output(event, seen.tid)
        if event.nodes:
            foreign = foreign_nodes(event)
            rest = [seen for seen in event.nodes if seen.nid in foreign]
            mine = [seen for seen in event.nodes if seen.nid not in foreign]
            whence = ("in", event.site, event.op, turn)
            self._add_nodes(None, rest, whence, Moment(event.ordinal, 0))
            slot.nodes = self._add_nodes(event, mine, (event.site, event.op, turn), made)
        self.book.by_source(event, slot, self._place(event.site))
        return slot

    def _describe_output(self, event: OpCalled, tid: int) -> None:
        record = self.tensors[tid]
        record.used = True
        if record.made.ordinal != event.ordinal:
            return
        record.inputs = tuple(i for i in event.inputs if i != tid)
        record.direct = event.direct
        record.grad_enabled = event.grad_enabled
        if event.op in _ALIASING and event.inputs:
            record.alias = event.inputs[0]

    def introduce(self, event: Any) -> None:
        """Take in tensors and nodes that an event mentions for the first time."""
        site = getattr(event, "site", 0)
        if not event.tensors and not event.nodes:
            return
        what = getattr(event, "what", "") or getattr(event, "name", "")
        for index, seen in enumerate(event.tensors):
            key = ("at", type(event).__name__, site, what, index)
            self._add_tensor(seen, key, None, event.ordinal)
        made = Moment(event.ordinal, site)
        self._add_nodes(event, event.nodes, ("at", site, type(event).__name__), made)

    def _add_tensor(
        self, seen: TensorSeen, key: tuple[Any, ...], made: Moment | None, ordinal: int
    ) -> TensorRecord:
        known = self.tensors.get(seen.tid)
        if known is not None:
            known.requires_grad, known.is_leaf = seen.requires_grad, seen.is_leaf
            known.nid, known.retains_grad = seen.nid, seen.retains_grad
            known.hooks = max(known.hooks, seen.hooks)
            known.seen = seen
            return known
        made = made or Moment(ordinal, 0)
        old = self._slots.get(key)
        if old is not None and not (key[0] in ("in", "at") and is_held(old)):
            if self.tensors.get(old.previous) is old:
                del self.tensors[old.previous]
            if seen.requires_grad and not old.requires_grad:
                self._unlink(old.index)
            old.renew(seen)
            old.made = made
            self.tensors[seen.tid] = old
            return old
        self.newest_index += 1
        record = TensorRecord(
            seen.tid,
            self.newest_index,
            seen,
            seen.requires_grad,
            seen.is_leaf,
            seen.retains_grad,
            seen.version,
            seen.hooks,
            seen.nid,
            made,
        )
        self.tensors[seen.tid] = self._slots[key] = record
        self.records.append(record)
        return record

    def _add_nodes(
        self, event: Any, nodes: Iterable[NodeSeen], key: tuple[Any, ...], made: Moment
    ) -> list[NodeRecord]:
        added: list[NodeRecord] = []
        turns: dict[str, int] = {}
        for index, seen in enumerate(nodes):
            if seen.nid in self.nodes:
                continue
            # By its name: a step may have nodes that the one before had not.
            turn = turns[seen.name] = turns.get(seen.name, -1) + 1
            slot = (*key, "n", turn, seen.name)
            record = self._node_slots.get(slot)
            inputs = getattr(event, "inputs", ()) if index == 0 else ()
            outputs = getattr(event, "outputs", ())
            if record is None:
                self.newest_index += 1
                what = made.what if index == 0 else ""
                record = NodeRecord(seen.nid, self.newest_index, seen, what, made, inputs, outputs)
                self._node_slots[slot] = record
                self.node_records.append(record)
            else:
                if self.nodes.get(record.previous) is record:
                    del self.nodes[record.previous]
                record.previous, record.nid, record.seen = record.nid, seen.nid, seen
                record.made, record.inputs, record.outputs = made, inputs, outputs
                record.count += 1
                record.merged = False
            self.nodes[seen.nid] = record
            added.append(record)
        for record in added:
            self._link(record)
        return added

    def _link(self, node: NodeRecord) -> None:
        """Take a node's edges over as links to slots, which outlive a step."""
        if not node.seen.name:
            self._relink(node, links_by_inputs(self.tensors, node.inputs))
            return
        links = []
        for kind, number, output_nr in node.seen.edges:
            if kind == "t":
                leaf = self.tensors.get(number)
                if leaf is not None:
                    links.append(Link(leaf, output_nr, False))
                continue
            behind = self.nodes.get(number)
            if behind is not None:
                links.append(Link(behind, output_nr, behind.nid != number))
        self._relink(node, links)

    def _relink(self, node: NodeRecord, links: list[Link]) -> None:
        """Let a node lead elsewhere; note whether that is another place than before."""
        if list(map(self._end, node.links)) != list(map(self._end, links)):
            self.moved += 1
        node.links = links

    def _end(self, link: Link) -> int:
        """Return what tells apart what edges lead to: a leaf, or the node behind a tensor."""
        behind = self.nodes.get(link.to.nid)
        return link.to.index if behind is None else behind.index

    def _unlink(self, index: int) -> None:
        """Have the links of all ops looked at again that take a tensor, for it has a graph now.

        So it is with a state that is a constant in the first step.
        """
        for slots in self.ops.values():
            for slot in slots:
                if slot is not None and index in slot.operands:
                    slot.operands = tuple([-2 if one == index else one for one in slot.operands])

    def _index(self, tid: int) -> int:
        record = self.tensors.get(tid)
        return -1 if record is None else record.index

    def wrote(self, tid: int, event: Any) -> None:
        """Note an in-place write."""
        record = self.tensors.get(tid)
        if record is None:
            return
        record.version += 1
        record.touched = True
        if record.writes and record.writes[-1].site == event.site:
            record.writes[-1].ordinal = event.ordinal
        else:
            what = getattr(event, "op", "step")
            remember(record.writes, Moment(event.ordinal, event.site, what))

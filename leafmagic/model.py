"""The state of a trace: events folded into records, one per place in the code.

A loop runs the same code again, so what an op made in one step takes the slot of
what it made in the step before: the record keeps its id and counts. A step ends
with a backward pass; within one step the same place may run many times (an
unrolled RNN), and each run has a slot of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leafmagic.cell import Place
from leafmagic.events import (
    Accessed,
    BackwardCalled,
    BackwardReturned,
    Bound,
    Event,
    NodeSeen,
    OpCalled,
    OpRepeated,
    Owned,
    PassRepeated,
    Rebound,
    StateRead,
    TensorSeen,
    WriteAttempted,
    Written,
)

_LONGEST_HISTORY = 40
_ALIASING = {"detach", "data", "detach_", "numpy"}


@dataclass(slots=True)
class Moment:
    """When and where something happened."""

    ordinal: int
    site: int
    what: str = ""


@dataclass(slots=True)
class Name:
    """A variable that points, or pointed, to a tensor."""

    scope: str
    name: str
    line: int | None
    label: str
    ordinal: int
    current: bool = True


@dataclass(slots=True)
class TensorRecord:
    """What is known of one tensor; see `leafmagic.graph.Node` for the words."""

    tid: int
    index: int
    seen: TensorSeen
    requires_grad: bool
    is_leaf: bool
    retains_grad: bool
    version: int
    hooks: int
    nid: int
    made: Moment
    inputs: tuple[int, ...] = ()
    direct: bool = False
    grad_enabled: bool = True
    alias: int = -1
    names: list[Name] = field(default_factory=list)
    path: str = ""
    registered: bool = False
    hint: str = ""
    writes: list[Moment] = field(default_factory=list)
    retained: Moment | None = None
    hooked: list[Moment] = field(default_factory=list)
    flagged: list[Moment] = field(default_factory=list)
    has_grad: bool = False
    grad_norm: float | None = None
    preview: str = ""
    grad_preview: str = ""
    count: int = 1
    previous: int = -1
    used: bool = False
    touched: bool = False
    """Whether anything was noted that the next step has to drop."""

    @property
    def id(self) -> str:
        """Return the id that the graph gives it."""
        return f"t{self.index}"

    def forget(self) -> None:
        """Drop what was noted about the tensor of the step before."""
        self.writes, self.hooked, self.flagged, self.retained = [], [], [], None
        self.has_grad, self.grad_norm = False, None
        self.retains_grad, self.version, self.hooks = False, 0, 0
        self.touched = False

    def renew(self, seen: TensorSeen) -> None:
        """Let the slot stand for the tensor that the next step made."""
        self.previous, self.tid = self.tid, seen.tid
        self.seen, self.nid = seen, seen.nid
        self.requires_grad, self.is_leaf = seen.requires_grad, seen.is_leaf
        self.count += 1
        self.forget()
        self.retains_grad, self.version = seen.retains_grad, seen.version
        self.hooks = seen.hooks


class Link(NamedTuple):
    """An edge between slots.

    Attributes
    ----------
    to : NodeRecord or TensorRecord
        A leaf, or the node behind the input. A tensor that is no leaf stands for its node.
    output_nr : int
    carried : bool
        Whether what it leads to was made in an earlier step.
    """

    to: NodeRecord | TensorRecord
    output_nr: int
    carried: bool


@dataclass(slots=True)
class NodeRecord:
    """What is known of one autograd node."""

    nid: int
    index: int
    seen: NodeSeen
    op: str
    made: Moment
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    count: int = 1
    previous: int = -1
    links: list[Link] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Return the id that the graph gives it."""
        return f"n{self.index}"


@dataclass(slots=True)
class OpSlot:
    """One op of the step: what it made last time, to be taken over by the next."""

    made: Moment
    tensors: list[TensorRecord] = field(default_factory=list)
    nodes: list[NodeRecord] = field(default_factory=list)
    operands: tuple[int, ...] = ()
    """Indices of the tensors it was called with."""
    key: tuple[str, str] | None = None
    """The name that the source gives the output, inside a function."""


@dataclass(slots=True)
class Pass:
    """One call of ``backward`` or ``autograd.grad``."""

    ordinal: int
    site: int
    what: str
    roots: tuple[int, ...]
    inputs: tuple[int, ...]
    retain_graph: bool
    create_graph: bool
    finished: int = 0
    failed: bool = False


class Model:
    """Folds events, in order.

    Parameters
    ----------
    place : callable
        From a site to its `Place`.
    """

    def __init__(self, place: Callable[[int], Place | None]) -> None:
        self.place = place
        self.tensors: dict[int, TensorRecord] = {}
        self.nodes: dict[int, NodeRecord] = {}
        self.names: dict[tuple[str, str], int] = {}
        self.history: dict[tuple[str, str], list[tuple[int, int | None, int]]] = {}
        """Per name the (tid, line, ordinal) of its bindings, the newest last."""
        self.grad_values: dict[int, int] = {}
        """tid of a value read from ``.grad`` to the tid of its tensor."""
        self.rebound: list[Rebound] = []
        """Leaves whose names were taken away; whoever reads them takes them out."""
        self.passes: list[Pass] = []
        self.steps = 0
        self.seen = 0
        self.ordinal = 0
        self._slots: dict[tuple[Any, ...], int] = {}
        self._node_slots: dict[tuple[Any, ...], NodeRecord] = {}
        self._records: list[TensorRecord] = []
        self._ops: dict[tuple[int, str], list[OpSlot | None]] = {}
        self._next_index = 0
        self._pending: tuple[int, int | None] | None = None
        self._handlers: dict[type, Callable[[Any], None]] = {
            OpCalled: self._op,
            OpRepeated: self.repeated,
            PassRepeated: self._pass_repeated,
            Written: self._written,
            WriteAttempted: self._introduce,
            Accessed: self._access,
            BackwardCalled: self._backward,
            BackwardReturned: self._returned,
            Bound: self._bound,
            Owned: self._owned,
            StateRead: self._state,
        }

    # Looking things up -----------------------------------------------------------

    def line(self, site: int) -> int | None:
        """Return the line of a site."""
        place = self.place(site)
        return None if place is None else place.line

    def tensor(self, tid: int) -> TensorRecord | None:
        """Return the record of a tensor, where it is still kept."""
        return self.tensors.get(tid)

    def root(self, record: TensorRecord) -> int:
        """Return the tid of the tensor whose memory this one shares."""
        seen = {record.tid}
        while True:
            parent = record.seen.base if record.seen.base >= 0 else record.alias
            above = self.tensors.get(parent)
            if above is None or above.tid in seen:
                return record.tid
            seen.add(above.tid)
            record = above

    def ancestors(self, tid: int, most: int = 400) -> Iterator[TensorRecord]:
        """Yield what a tensor was computed from, nearest first, itself left out."""
        seen = {tid}
        queue = [tid]
        for current in queue:
            record = self.tensors.get(current)
            if record is None:
                continue
            for parent in record.inputs:
                above = self.tensors.get(parent)
                if above is None or parent in seen or above.made.ordinal > record.made.ordinal:
                    continue
                seen.add(parent)
                yield above
                queue.append(parent)
                if len(queue) >= most:
                    return

    def name_of(self, tid: int) -> str:
        """Return the best name of a tensor; empty where it has none."""
        record = self.tensors.get(tid)
        return "" if record is None else best_name(record)

    # Folding ---------------------------------------------------------------------

    def feed(self, event: Event) -> None:
        """Take in one event."""
        self.ordinal = event.ordinal
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def _op(self, event: OpCalled) -> None:
        slots = self._ops.setdefault((event.site, event.op), [])
        while len(slots) <= event.turn:
            slots.append(None)
        slot = slots[event.turn]
        if slot is None or not self._again(event, slot):
            slot = slots[event.turn] = self._first(event, event.turn)
        slot.operands = tuple([self._index(tid) for tid in event.inputs])
        tensors = self.tensors
        for tid in event.inputs:
            record = tensors.get(tid)
            if record is not None:
                record.used = True
        for tid in event.wrote:
            self._wrote(tid, event)
        if slot.key is not None and event.outputs:
            self._name_output(event.site, event.direct, event.outputs[0], slot.key, event.ordinal)

    def _index(self, tid: int) -> int:
        record = self.tensors.get(tid)
        return -1 if record is None else record.index

    def _wrote(self, tid: int, event: Any) -> None:
        record = self.tensors.get(tid)
        if record is None:
            return
        record.version += 1
        record.touched = True
        if record.writes and record.writes[-1].site == event.site:
            record.writes[-1].ordinal = event.ordinal
        else:
            _remember(record.writes, Moment(event.ordinal, event.site, event.op))

    def _written(self, event: Written) -> None:
        self._wrote(event.tid, event)

    def repeated(self, event: OpRepeated) -> None:
        """Take over the slot of an op that did the same again.

        Called instead of `feed`, for speed; most events of a long loop are of this type.
        """
        ordinal, site, op, direct, inputs, turn, tid, nid, base, shape, before, times = event
        slot = self._ops[(site, op)][turn]
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
        key = slot.key
        if key is not None:
            if self.names.get(key) == last:
                self.names[key] = tid
                past = self.history[key]
                past[-1] = (tid, past[-1][1], ordinal)
            else:
                self._name_output(site, direct, tid, key, ordinal)

    def _moved(self, slot: OpSlot, inputs: tuple[int, ...]) -> None:
        """Note that an op was called with other tensors than in the step before."""
        for tid in inputs:
            record = self.tensors.get(tid)
            if record is not None:
                record.used = True
        slot.operands = tuple([self._index(tid) for tid in inputs])
        for node in slot.nodes[:1]:
            node.links = self._links_by_inputs(inputs)

    def _again(self, event: OpCalled, slot: OpSlot) -> bool:
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

    def _links_by_inputs(self, inputs: tuple[int, ...]) -> list[Link]:
        """Return the links of an op that was called with other tensors than before.

        Its edges are read from torch once; in a later step they are those of its inputs.
        """
        links = []
        for tid in inputs:
            record = self.tensors.get(tid)
            if record is not None and record.requires_grad:
                links.append(Link(record, record.seen.output_nr, record.tid != tid))
        return links

    def _first(self, event: OpCalled, turn: int) -> OpSlot:
        """Make a slot for an op that is new, or that did something else this time."""
        made = Moment(event.ordinal, event.site, event.op)
        slot = OpSlot(made)
        outputs = {tid: i for i, tid in enumerate(event.outputs)}
        for index, seen in enumerate(event.tensors):
            which = outputs.get(seen.tid)
            if which is None or seen.tid in event.inputs:
                place_in = event.inputs.index(seen.tid) if seen.tid in event.inputs else -index - 1
                self._add_tensor(seen, ("in", event.site, event.op, turn, place_in), None)
            else:
                key = (event.site, event.op, turn, which)
                slot.tensors.append(self._add_tensor(seen, key, made))
                self._describe_output(event, seen.tid)
        if event.nodes:
            foreign = self._foreign(event)
            mine = [seen for seen in event.nodes if seen.nid not in foreign]
            slot.nodes = self._add_nodes(event, mine, (event.site, event.op, turn), made)
            if foreign:
                rest = [seen for seen in event.nodes if seen.nid in foreign]
                key = ("in", event.site, event.op, turn)
                self._add_nodes(None, rest, key, Moment(event.ordinal, 0))
        self._name_by_source(event, slot)
        return slot

    def _foreign(self, event: OpCalled) -> set[int]:
        """Return the nodes that an input brought along: made before, by something unseen."""
        if len(event.nodes) == 1:
            return set()
        edges = {seen.nid: seen.edges for seen in event.nodes}
        queue = [
            seen.nid
            for seen in event.tensors
            if seen.nid in edges and seen.tid not in event.outputs
        ]
        found = set(queue)
        for nid in queue:
            for kind, child, _ in edges[nid]:
                if kind == "n" and child in edges and child not in found:
                    found.add(child)
                    queue.append(child)
        return found

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

    def _introduce(self, event: Any) -> None:
        """Take in tensors and nodes that an event mentions for the first time."""
        for index, seen in enumerate(event.tensors):
            self._add_tensor(seen, ("at", type(event).__name__, seen.tid, index), None)
        site = getattr(event, "site", 0)
        made = Moment(event.ordinal, site)
        self._add_nodes(event, event.nodes, ("at", site, type(event).__name__), made)

    def _add_tensor(
        self, seen: TensorSeen, key: tuple[Any, ...], made: Moment | None
    ) -> TensorRecord:
        record = self.tensors.get(seen.tid)
        if record is not None:
            record.requires_grad, record.is_leaf = seen.requires_grad, seen.is_leaf
            record.nid = seen.nid
            record.retains_grad = seen.retains_grad
            record.hooks = max(record.hooks, seen.hooks)
            record.seen = seen
            return record
        old = self.tensors.get(self._slots.get(key, -1))
        if old is not None and key[0] == "in" and (old.registered or any_current(old)):
            old = None
        if old is not None and old.tid == self._slots[key]:
            if self.tensors.get(old.previous) is old:
                del self.tensors[old.previous]
            old.renew(seen)
            old.made = made or Moment(self.ordinal, 0)
            self.tensors[seen.tid] = old
            self._slots[key] = seen.tid
            return old
        self._next_index += 1
        record = TensorRecord(
            seen.tid,
            self._next_index,
            seen,
            seen.requires_grad,
            seen.is_leaf,
            seen.retains_grad,
            seen.version,
            seen.hooks,
            seen.nid,
            made or Moment(self.ordinal, 0),
        )
        self.tensors[seen.tid] = record
        self._slots[key] = seen.tid
        self._records.append(record)
        return record

    def _add_nodes(
        self, event: Any, nodes: Iterable[NodeSeen], key: tuple[Any, ...], made: Moment
    ) -> list[NodeRecord]:
        added: list[NodeRecord] = []
        for index, seen in enumerate(nodes):
            if seen.nid in self.nodes:
                continue
            slot = (*key, "n", index, seen.name)
            record = self._node_slots.get(slot)
            inputs = getattr(event, "inputs", ()) if index == 0 else ()
            outputs = getattr(event, "outputs", ())
            if record is None:
                self._next_index += 1
                what = made.what if index == 0 else ""
                record = NodeRecord(
                    seen.nid, self._next_index, seen, what, made, inputs, outputs
                )
                self._node_slots[slot] = record
            else:
                if self.nodes.get(record.previous) is record:
                    del self.nodes[record.previous]
                record.previous, record.nid, record.seen = record.nid, seen.nid, seen
                record.made, record.inputs, record.outputs = made, inputs, outputs
                record.count += 1
            self.nodes[seen.nid] = record
            added.append(record)
        for record in added:
            self._link(record)
        return added

    def _link(self, node: NodeRecord) -> None:
        """Take a node's edges over as links to slots, which outlive a step."""
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
        node.links = links

    # Names -----------------------------------------------------------------------

    def _name_by_source(self, event: OpCalled, slot: OpSlot) -> None:
        """Name tensors inside functions by what the source calls them."""
        place = self.place(event.site)
        if place is None:
            return
        if event.direct:
            self._hint_operands(event, place)
        if place.function == "<module>" or not place.targets or not event.outputs:
            return
        if place.unpacked and event.direct:
            for name, tid in zip(place.targets, event.outputs, strict=False):
                self.bind(place.function, name, tid, place.line, place.label, event.ordinal)
        elif not place.unpacked:
            slot.key = (place.function, place.targets[0])

    def _name_output(
        self, site: int, direct: bool, tid: int, key: tuple[str, str], ordinal: int
    ) -> None:
        """Bind the name that the source gives an op's output.

        A module call runs several ops at one place. Each in turn is taken for the
        value; the last one is.
        """
        before = self.names.get(key)
        if before is not None and self.tensors.get(before) is self.tensors.get(tid):
            self.names[key] = tid
            self.history[key][-1] = (tid, self.history[key][-1][1], ordinal)
            return
        if not direct and self._pending == (site, before):
            self._unbind_last(key)
        place = self.place(site)
        if place is not None:
            self.bind(*key, tid, place.line, place.label, ordinal)
        self._pending = (site, tid)

    def _hint_operands(self, event: OpCalled, place: Place) -> None:
        words = [word for word in place.operands if not _is_literal_or_module(word)]
        if len(words) != len(event.inputs):
            return
        for word, tid in zip(words, event.inputs, strict=True):
            record = self.tensors.get(tid)
            if record is not None and not record.hint and _is_path(word):
                record.hint = word

    def _unbind_last(self, key: tuple[str, str]) -> None:
        record = self.tensors.get(self.names.get(key, -1))
        if record is not None and record.names:
            record.names.pop()
        if self.history.get(key):
            self.history[key].pop()

    def current_tensors(self) -> list[TensorRecord]:
        """Return the record of each slot, in the order in which slots were made."""
        return self._records

    def current_nodes(self) -> list[NodeRecord]:
        """Return the node of each slot."""
        return list(self._node_slots.values())

    def bind(
        self, scope: str, name: str, tid: int, line: int | None, label: str, ordinal: int
    ) -> None:
        """Note that a name now points to a tensor (-1: to something else)."""
        key = (scope, name)
        before = self.names.get(key)
        if before == tid:
            return
        self.names[key] = tid
        old = self.tensors.get(before) if before is not None else None
        record = self.tensors.get(tid)
        past = self.history.setdefault(key, [])
        if old is not None and old is record and past:
            # The next step bound the same name at the same place.
            past[-1] = (tid, line, ordinal)
            return
        if old is not None:
            if old.is_leaf and old.requires_grad and tid >= 0:
                self.rebound.append(Rebound(ordinal, scope, name, old.tid, tid))
            for known in old.names:
                if (known.scope, known.name) == key:
                    known.current = False
        past.append((tid, line, ordinal))
        if len(past) > _LONGEST_HISTORY:
            del past[1]
        if record is not None:
            self._add_name(record, Name(scope, name, line, label, ordinal))

    def _add_name(self, record: TensorRecord, name: Name) -> None:
        for known in record.names:
            if (known.scope, known.name, known.line) == (name.scope, name.name, name.line):
                known.current, known.ordinal = True, name.ordinal
                return
        record.names.append(name)
        if len(record.names) > _LONGEST_HISTORY:
            del record.names[1]

    def _bound(self, event: Bound) -> None:
        self._introduce(event)
        self.bind(event.scope, event.name, event.tid, event.line, event.label, event.ordinal)

    def _owned(self, event: Owned) -> None:
        record = self.tensors.get(event.tid)
        if record is not None and not (record.path and record.registered):
            record.path, record.registered = event.path, event.registered

    # What changes a tensor -------------------------------------------------------

    def _access(self, event: Accessed) -> None:
        self._introduce(event)
        record = self.tensors.get(event.tid)
        if record is None:
            return
        record.used = record.touched = True
        moment = Moment(event.ordinal, event.site, event.what)
        if event.what == "grad" and event.value != -1:
            self.grad_values[event.value] = event.tid
            if len(self.grad_values) > 10_000:
                del self.grad_values[next(iter(self.grad_values))]
        elif event.what == "data" and event.value in self.tensors:
            self.tensors[event.value].alias = event.tid
        elif event.what == "retain_grad" and not event.is_leaf:
            record.retains_grad = True
            record.retained = record.retained or moment
        elif event.what == "register_hook":
            record.hooks += 1
            _remember(record.hooked, moment)
        elif event.what in ("requires_grad_", "set_requires_grad"):
            if record.is_leaf:
                record.requires_grad = bool(event.value)
            _remember(record.flagged, moment)

    def _backward(self, event: BackwardCalled) -> None:
        self._introduce(event)
        # Tensor.backward calls torch.autograd.backward; only the outer one is seen.
        self.passes.append(
            Pass(
                event.ordinal,
                event.site,
                event.what,
                event.roots,
                event.inputs,
                event.retain_graph,
                event.create_graph,
            )
        )
        if len(self.passes) > 200:
            del self.passes[1]

    def _returned(self, event: BackwardReturned) -> None:
        for known in reversed(self.passes):
            if known.ordinal == event.began:
                known.finished, known.failed = event.ordinal, event.failed
                break
        if not event.failed:
            self.steps += 1

    def _pass_repeated(self, event: PassRepeated) -> None:
        self.steps += event.times
        for known in reversed(self.passes):
            if known.site == event.site:
                known.ordinal, known.finished = event.began, event.ordinal
                known.roots, known.failed = event.roots, False
                break

    def _state(self, event: StateRead) -> None:
        record = self.tensors.get(event.tid)
        if record is None:
            return
        record.touched = True
        record.requires_grad, record.is_leaf = event.requires_grad, event.is_leaf
        record.retains_grad, record.version = event.retains_grad, event.version
        record.hooks = event.hooks
        record.has_grad, record.grad_norm = event.has_grad, event.grad_norm
        record.preview, record.grad_preview = event.preview, event.grad_preview


def any_current(record: TensorRecord) -> bool:
    """Tell whether a variable still points to a tensor."""
    return any(name.current for name in record.names)


def best_name(record: TensorRecord) -> str:
    """Choose what to call a tensor: a variable, a parameter's path, what it was called."""
    if record.registered and record.path:
        return record.path
    current = [name for name in record.names if name.current]
    outer = [name for name in current if not name.scope]
    if outer:
        return outer[-1].name
    if record.path:
        return record.path
    if current:
        return current[-1].name
    if record.names:
        return record.names[-1].name
    return record.hint


def _remember(moments: list[Moment], moment: Moment) -> None:
    moments.append(moment)
    if len(moments) > _LONGEST_HISTORY:
        del moments[1]


def _is_literal_or_module(word: str) -> bool:
    if word in ("torch", "F", "nn", "functional", "np", "True", "False", "None"):
        return True
    if word.startswith(("torch.", "nn.functional", "F.", "'", '"', "(", "[")):
        return True
    try:
        float(word)
    except ValueError:
        return False
    return True


def _is_path(word: str) -> bool:
    return all(part.isidentifier() for part in word.replace("]", "").replace("[", ".i").split("."))

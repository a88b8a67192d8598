"""The state of a trace: events folded into records, one per place in the code.

A loop runs the same code again, so what an op made in one step takes the slot of
what it made in the step before: the record keeps its id and counts. A step ends
with a backward pass; within one step the same place may run many times (an
unrolled RNN), and each run has a slot of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import (
    Accessed,
    BackwardCalled,
    BackwardReturned,
    Bound,
    Event,
    NodeSeen,
    OpCalled,
    Owned,
    StateRead,
    TensorSeen,
    WriteAttempted,
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

    @property
    def id(self) -> str:
        """Return the id that the graph gives it."""
        return f"t{self.index}"


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

    @property
    def id(self) -> str:
        """Return the id that the graph gives it."""
        return f"n{self.index}"


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
        self.passes: list[Pass] = []
        self.steps = 0
        self.seen = 0
        self.ordinal = 0
        self._slots: dict[tuple[Any, ...], int] = {}
        self._node_slots: dict[tuple[Any, ...], int] = {}
        self._turns: dict[tuple[int, str], tuple[int, int]] = {}
        self._next_index = 0
        self._pending: tuple[int, tuple[int, ...]] | None = None
        self._handlers: dict[type, Callable[[Any], None]] = {
            OpCalled: self._op,
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
        self.seen += 1
        self.ordinal = event.ordinal
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

    def _turn(self, site: int, op: str) -> int:
        """Count how often a place ran in this step."""
        step, turn = self._turns.get((site, op), (-1, 0))
        turn = turn + 1 if step == self.steps else 0
        self._turns[(site, op)] = (self.steps, turn)
        return turn

    def _op(self, event: OpCalled) -> None:
        turn = self._turn(event.site, event.op)
        made = Moment(event.ordinal, event.site, event.op)
        outputs = {tid: i for i, tid in enumerate(event.outputs)}
        for index, seen in enumerate(event.tensors):
            which = outputs.get(seen.tid)
            if which is None:
                place_in = event.inputs.index(seen.tid) if seen.tid in event.inputs else -index - 1
                self._add_tensor(seen, ("in", event.site, event.op, turn, place_in), None)
            else:
                self._add_tensor(seen, (event.site, event.op, turn, which), made)
                self._describe_output(event, seen.tid)
        if event.nodes:
            foreign = self._foreign(event)
            mine = [seen for seen in event.nodes if seen.nid not in foreign]
            self._add_nodes(event, mine, (event.site, event.op, turn), made)
            if foreign:
                rest = [seen for seen in event.nodes if seen.nid in foreign]
                key = ("in", event.site, event.op, turn)
                self._add_nodes(None, rest, key, Moment(event.ordinal, 0))
        for tid in event.inputs:
            record = self.tensors.get(tid)
            if record is not None:
                record.used = True
        for tid in event.wrote:
            record = self.tensors.get(tid)
            if record is not None:
                _remember(record.writes, made)
                record.version += 1
        self._name_by_source(event)

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
        if old is None:
            self._next_index += 1
            index, count = self._next_index, 1
        else:
            index, count = old.index, old.count + 1
            self.tensors.pop(old.previous, None)
        record = TensorRecord(
            seen.tid,
            index,
            seen,
            seen.requires_grad,
            seen.is_leaf,
            seen.retains_grad,
            seen.version,
            seen.hooks,
            seen.nid,
            made or Moment(self.ordinal, 0),
            count=count,
            previous=-1 if old is None else old.tid,
        )
        self.tensors[seen.tid] = record
        self._slots[key] = seen.tid
        return record

    def _add_nodes(
        self, event: Any, nodes: Iterable[NodeSeen], key: tuple[Any, ...], made: Moment
    ) -> None:
        for index, seen in enumerate(nodes):
            if seen.nid in self.nodes:
                continue
            slot = (*key, "n", index, seen.name)
            old = self.nodes.get(self._node_slots.get(slot, -1))
            if old is None:
                self._next_index += 1
                number, count = self._next_index, 1
            else:
                number, count = old.index, old.count + 1
                self.nodes.pop(old.previous, None)
            self.nodes[seen.nid] = NodeRecord(
                seen.nid,
                number,
                seen,
                made.what if index == 0 else "",
                made,
                getattr(event, "inputs", ()) if index == 0 else (),
                getattr(event, "outputs", ()),
                count,
                -1 if old is None else old.nid,
            )
            self._node_slots[slot] = seen.nid

    # Names -----------------------------------------------------------------------

    def _name_by_source(self, event: OpCalled) -> None:
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
            # A module call runs several ops at one place; each in turn is taken for the
            # value, and the last one is.
            tid = event.outputs[0]
            key = (place.function, place.targets[0])
            if not event.direct and self._pending == (event.site, self.names.get(key, -1)):
                self._unbind_last(key)
            self.bind(*key, tid, place.line, place.label, event.ordinal)
            self._pending = (event.site, tid)

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
        """Return the newest record of each slot, in the order in which slots were made."""
        records = (self.tensors.get(tid) for tid in self._slots.values())
        return sorted((r for r in records if r is not None), key=lambda r: r.index)

    def current_nodes(self) -> list[NodeRecord]:
        """Return the newest node of each slot."""
        records = (self.nodes.get(nid) for nid in self._node_slots.values())
        return sorted((r for r in records if r is not None), key=lambda r: r.index)

    def bind(
        self, scope: str, name: str, tid: int, line: int | None, label: str, ordinal: int
    ) -> None:
        """Note that a name now points to a tensor (-1: to something else)."""
        key = (scope, name)
        before = self.names.get(key)
        if before == tid:
            return
        old = self.tensors.get(before) if before is not None else None
        if old is not None:
            for known in old.names:
                if (known.scope, known.name) == key:
                    known.current = False
        self.names[key] = tid
        past = self.history.setdefault(key, [])
        past.append((tid, line, ordinal))
        if len(past) > _LONGEST_HISTORY:
            del past[1]
        record = self.tensors.get(tid)
        if record is not None:
            record.names.append(Name(scope, name, line, label, ordinal))
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
        record.used = True
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

    def _state(self, event: StateRead) -> None:
        record = self.tensors.get(event.tid)
        if record is None:
            return
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

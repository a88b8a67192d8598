"""The state of a trace: what the events add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from leafmagic.breaks import GradientBroke, GradientsMeasured
from leafmagic.cell import Place
from leafmagic.events import (
    Accessed,
    BackwardCalled,
    BackwardReturned,
    Cleared,
    OpCalled,
    OpRepeated,
    PassRepeated,
    RoundFolded,
    Stepped,
    WriteAttempted,
    Written,
)
from leafmagic.folding import Slots
from leafmagic.gradients import Gradients
from leafmagic.laps import Laps
from leafmagic.looks import (
    Bound,
    Event,
    Finished,
    GradientSeen,
    Held,
    Owned,
    Raised,
    StateRead,
    Wired,
)
from leafmagic.records import Moment, Pass, TensorRecord, best_name, remember
from leafmagic.rounds import fold_round
from leafmagic.session import Session
from leafmagic.trends import Trends


class Model:
    """Takes events in, in order, and answers questions about what happened.

    Parameters
    ----------
    place : callable
        From a site to its `Place`.

    Attributes
    ----------
    slots : Slots
    tensors, nodes : dict
        The records of `slots`.
    names, history, rebound
        Those of `leafmagic.naming.NameBook`.
    grad_values : dict
        tid of a value read from ``.grad`` to the tid of its tensor.
    passes : list of Pass
        Of very many the first and the newest.
    ordinal : int
        Of the newest event.
    laps : Laps
        The passes by the line that called them.
    raised : Raised or None
        The newest error, be it that the code caught it.
    error : str
        The error that ended the code, in one line; empty where none did.
    gradients : Gradients
        What was added to the gradients of leaves, and what used them.
    trends : Trends
        What was measured of gradients and losses.
    held : tuple of Held
        What modules hold when the trace ends.
    session : Session
        What earlier traces left; of its own where nobody gives one.
    run : int
        The number of this trace in the session.
    """

    def __init__(self, place: Callable[[int], Place | None]) -> None:
        self.place = place
        self.slots = slots = Slots(place)
        self.tensors, self.nodes = slots.tensors, slots.nodes
        book = slots.book
        self.names, self.history, self.rebound = book.names, book.history, book.rebound
        self.grad_values: dict[int, int] = {}
        self.passes: list[Pass] = []
        self.laps = Laps(place)
        self.seen = 0
        self.ordinal = 0
        self.held: tuple[Held, ...] = ()
        self.raised: Raised | None = None
        self.error = ""
        self.session = Session()
        self.run = 0
        self.gradients = Gradients(slots, self.grad_values, place)
        self.trends = Trends(slots)
        self.repeated = slots.repeated
        self._handlers: dict[type, Callable[[Any], None]] = {
            OpCalled: self._op,
            OpRepeated: slots.repeated,
            RoundFolded: lambda event: fold_round(slots, event),
            PassRepeated: self._pass_repeated,
            Written: self._written,
            Stepped: self._stepped,
            Cleared: self._cleared,
            WriteAttempted: slots.introduce,
            Accessed: self._access,
            BackwardCalled: self._backward,
            BackwardReturned: self._returned,
            Bound: self._bound,
            Owned: self._owned,
            StateRead: self._state,
            GradientSeen: self._gradient,
            GradientBroke: self._broke,
            Wired: self._wired,
            GradientsMeasured: self._measured,
            Finished: self._finished,
            Raised: partial(setattr, self, "raised"),
        }

    @property
    def steps(self) -> int:
        """How many backward passes came to their end."""
        return self.trends.passes

    def feed(self, event: Event) -> None:
        """Take in one event."""
        self.ordinal = event.ordinal
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event)

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

    def _op(self, event: OpCalled) -> None:
        self.slots.op(event)
        for tid in event.wrote:
            record = self.tensors.get(tid)
            self.gradients.wrote(tid, tid if record is None else self.root(record), event)

    def _written(self, event: Written) -> None:
        self.slots.wrote(event.tid, event)
        record = self.tensors.get(event.tid)
        root = event.tid if record is None else self.root(record)
        self.gradients.wrote(event.tid, root, event)

    def _stepped(self, event: Stepped) -> None:
        self.slots.introduce(event)
        for tid, version in zip(event.tids, event.versions, strict=True):
            record = self.tensors.get(tid)
            if record is not None and record.version != version:
                self.slots.wrote(tid, event)
                record.version = version
        self.gradients.stepped(event)

    def _cleared(self, event: Cleared) -> None:
        self.slots.introduce(event)
        for tid in event.tids:
            record = self.tensors.get(tid)
            if record is not None:
                record.touched = True
                record.cleared = Moment(event.ordinal, event.site, "zero_grad")
        self.gradients.cleared(event)

    def _bound(self, event: Bound) -> None:
        self.slots.introduce(event)
        self.slots.book.bind(
            event.scope,
            event.name,
            event.tid,
            event.line,
            event.label,
            event.ordinal,
            event.source,
        )

    def _owned(self, event: Owned) -> None:
        record = self.tensors.get(event.tid)
        if record is not None and not (record.path and record.registered):
            record.path, record.registered = event.path, event.registered

    def _access(self, event: Accessed) -> None:  # noqa: C901 - one case for each access
        self.slots.introduce(event)
        record = self.tensors.get(event.tid)
        if record is None:
            return
        record.used = record.touched = True
        moment = Moment(event.ordinal, event.site, event.what)
        if event.what == "grad" and event.value != -1:
            self.grad_values[event.value] = event.tid
            if len(self.grad_values) > 10_000:
                del self.grad_values[next(iter(self.grad_values))]
        elif event.what == "set_grad" and event.value == -1:
            record.cleared = moment
        elif event.what == "data" and event.value in self.tensors:
            self.tensors[event.value].alias = event.tid
        elif event.what == "retain_grad" and not event.is_leaf:
            record.retains_grad = True
            record.retained = record.retained or moment
        elif event.what == "register_hook":
            record.hooks += 1
            remember(record.hooked, moment)
        elif event.what in ("requires_grad_", "set_requires_grad"):
            if record.is_leaf:
                record.requires_grad = bool(event.value)
            remember(record.flagged, moment)
            if event.what == "requires_grad_":
                self.slots.book.returned(event, self.place(event.site))
        self.gradients.accessed(event)

    def _backward(self, event: BackwardCalled) -> None:
        self.slots.introduce(event)
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
                self.gradients.passed(known)
                if not event.failed:
                    self.trends.passed(known.site, known.what, event.value, event.at)
                break
        if not event.failed:
            self.laps.passed(event.site, event.ordinal, self.slots.newest_index)

    def _measured(self, event: GradientsMeasured) -> None:
        self.trends.measured(event)
        self.gradients.measured(event)

    def _pass_repeated(self, event: PassRepeated) -> None:
        self.laps.passed(event.site, event.ordinal, self.slots.newest_index)
        for known in reversed(self.passes):
            if known.site == event.site:
                known.ordinal, known.finished = event.began, event.ordinal
                known.roots, known.failed = event.roots, False
                known.times += 1
                break
        self.trends.passed(event.site, event.what, event.value, event.at)
        self.gradients.repeated(event)

    def _broke(self, event: GradientBroke) -> None:
        node = self.nodes.get(event.nid)
        if node is not None and event.how in ("nan", "inf", "forward"):
            how = "inf" if event.cause == "overflow" else "nan"
            how = how if event.how == "forward" else event.how
            self.trends.births.setdefault(node.index, how)

    def _wired(self, event: Wired) -> None:
        self.held = event.held

    def _finished(self, _event: Finished) -> None:
        self.laps.ended = True

    def _gradient(self, event: GradientSeen) -> None:
        record = self.tensors.get(event.tid)
        if record is not None:
            record.has_grad, record.grad_norm = True, event.norm

    def _state(self, event: StateRead) -> None:
        record = self.tensors.get(event.tid)
        if record is None:
            return
        record.touched = True
        record.requires_grad, record.is_leaf = event.requires_grad, event.is_leaf
        record.retains_grad, record.version = event.retains_grad, event.version
        record.hooks = event.hooks
        record.has_grad, record.old_grad = event.has_grad, event.old_grad
        record.grad_norm = event.grad_norm
        record.preview, record.grad_preview = event.preview, event.grad_preview

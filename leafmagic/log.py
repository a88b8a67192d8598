"""The events of a trace, on their way from the code that makes them to the model.

In a loop nearly everything happens again and again. What did the same as in the step
before is kept as one latest event per place, not as one event per step, until
something else happens or the log is read. So a long loop neither fills memory nor
costs a reading of each of its ops.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable
from typing import Any

from leafmagic.events import OpRepeated
from leafmagic.looks import Event

_ordinal = operator.itemgetter(0)
_tuple = tuple.__new__
"""Makes a NamedTuple in half the time of its own constructor."""


class Repeat:
    """The newest run of an op that does the same in every step.

    Attributes
    ----------
    place : tuple of (site, op, direct, turn)
        Where it runs.
    name : str
        The node behind its output; empty where there is none.
    never_view : bool
        Whether its output cannot be a view.
    ref : TensorRef
        A weak reference to its newest output.
    mark : callable
        Returns None once the node behind the output is known to be gone.
    tid, before, times
        Those of the event to come.
    latest : tuple of (ordinal, inputs, tid, nid, base, shape)
        Likewise; one tuple, so that another thread reads what belongs together.
    """

    __slots__ = (
        "before",
        "dirty",
        "latest",
        "mark",
        "name",
        "never_view",
        "place",
        "ref",
        "tid",
        "times",
    )

    def __init__(
        self,
        place: tuple[int, str, bool, int],
        name: str,
        never_view: bool,
        ref: Any,
        mark: Callable[[], Any],
    ) -> None:
        self.place = place
        self.name = name
        self.never_view = never_view
        self.mark = mark
        self.ref = ref
        self.tid = self.before = ref.tid
        self.latest: tuple[Any, ...] = ()
        self.times = 0
        self.dirty = False

    def is_gone(self) -> bool:
        """Tell whether its newest output, and the node behind it, are no longer alive."""
        return self.ref() is None and self.mark() is None

    def event(self) -> OpRepeated:
        """Return what happened since the last call."""
        self.dirty = False
        times, self.times = self.times, 0
        site, op, direct, turn = self.place
        ordinal, inputs, tid, nid, base, shape = self.latest
        fields = (
            ordinal, site, op, direct, inputs, turn, tid, nid, base, shape, self.before, times,
        )  # fmt: skip
        return _tuple(OpRepeated, fields)


class EventLog:
    """Takes events in, in order, and hands them over.

    Attributes
    ----------
    ordinal : int
        The number of the newest event.
    """

    def __init__(self) -> None:
        self.ordinal = 0
        self._events: list[Event] = []
        self._notes: list[Event] = []
        self._repeats: list[Repeat] = []
        self._latest: dict[tuple[Any, ...], Event] = {}
        # Taken for whatever is not the same again; the hot path does without.
        self._lock = threading.RLock()

    def __len__(self) -> int:
        """Return how many events wait."""
        return len(self._events) + len(self._notes)

    def next_ordinal(self) -> int:
        """Return the number of the next event."""
        self.ordinal += 1
        return self.ordinal

    def emit(self, event: Event) -> None:
        """Take an event in."""
        with self._lock:
            self._settle()
            self._events.append(event)

    def extend(self, events: Iterable[Event]) -> None:
        """Take events in, one after another."""
        for event in events:
            self.emit(event)

    def repeats(self, repeat: Repeat) -> None:
        """Take in that an op began to do the same again; the op itself notes the rest."""
        repeat.dirty = True
        self._repeats.append(repeat)

    def note(self, event: Event) -> None:
        """Take an event in that changes nothing for what repeats around it."""
        self._notes.append(event)

    def replace(self, key: tuple[Any, ...], event: Event) -> None:
        """Take an event in that makes the last one of that key not worth keeping."""
        self._latest[key] = event

    def take(self) -> list[Event]:
        """Hand over all events, in order. From any thread."""
        with self._lock:
            self._settle()
            events, notes = self._events, self._notes
            taken = events[:]
            del events[: len(taken)]
            if notes:
                count = len(notes)
                taken += notes[:count]
                del notes[:count]
                taken.sort(key=_ordinal)
            return taken

    def _settle(self) -> None:
        """Turn what was repeated into events."""
        if not self._repeats and not self._latest:
            return
        # The thread that records may add while this one takes: never swap the list.
        repeats = self._repeats
        count = len(repeats)
        settled: list[Any] = [repeat.event() for repeat in repeats[:count]]
        del repeats[:count]
        settled += [self._latest.pop(key) for key in list(self._latest)]
        settled.sort(key=_ordinal)
        self._events += settled

"""What repeats is kept once; order holds; readers in other threads lose nothing."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from leafmagic.events import OpRepeated, Written
from leafmagic.log import EventLog, Repeat
from leafmagic.looks import Bound


def repeat(tid: int = 1) -> Repeat:
    place = (1, "mul", True, 0)
    return Repeat(place, "MulBackward0", True, SimpleNamespace(tid=tid), lambda: True)


def again(log: EventLog, known: Repeat, tid: int) -> None:
    # As `OpRecorder.record` does, where a call would cost too much.
    known.before, known.tid = known.tid, tid
    known.latest = (log.next_ordinal(), (), tid, -1, -1, ())
    known.times += 1
    if not known.dirty:
        log.repeats(known)


def bound(log: EventLog, name: str = "a") -> Bound:
    return Bound(log.next_ordinal(), "", name, 1, 1, "", "", (), ())


def test_a_thousand_runs_are_one_event() -> None:
    log, known = EventLog(), repeat()
    for tid in range(2, 1002):
        again(log, known, tid)
    (event,) = log.take()
    assert isinstance(event, OpRepeated)
    assert (event.tid, event.before, event.times) == (1001, 1000, 1000)
    assert log.take() == []


def test_what_repeats_comes_before_what_happens_next() -> None:
    log, known = EventLog(), repeat()
    again(log, known, 2)
    log.emit(bound(log))
    again(log, known, 3)
    assert [type(event) for event in log.take()] == [OpRepeated, Bound, OpRepeated]


def test_only_the_newest_of_a_key_is_kept() -> None:
    log = EventLog()
    for _ in range(5):
        log.replace(("w", 1), Written(log.next_ordinal(), 1, "add_", 7))
    (event,) = log.take()
    assert event.ordinal == 5


def test_what_was_noted_comes_in_order_and_leaves_repeats_alone() -> None:
    log, known = EventLog(), repeat()
    again(log, known, 2)
    log.note(Written(log.next_ordinal(), 1, "add_", 7))
    again(log, known, 3)
    log.note(Written(log.next_ordinal(), 1, "add_", 7))
    events = log.take()
    assert [type(event) for event in events] == [Written, OpRepeated, Written]
    assert events[1].times == 2


def test_a_reader_in_another_thread_loses_no_run() -> None:
    log, known, runs = EventLog(), repeat(), 20_000
    taken: list[Any] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            taken.extend(log.take())

    reader = threading.Thread(target=read)
    reader.start()
    for tid in range(2, runs + 2):
        again(log, known, tid)
        if tid % 1000 == 0:
            log.emit(bound(log))
    done.set()
    reader.join()
    taken.extend(log.take())
    repeats = [event for event in taken if isinstance(event, OpRepeated)]
    assert repeats[-1].tid == runs + 1
    assert sum(isinstance(event, Bound) for event in taken) == runs // 1000
    ordinals = [event.ordinal for event in taken]
    assert ordinals == sorted(ordinals)

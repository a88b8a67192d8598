"""In how many steps of its loop a place ran, and whether the newest came past it.

Nothing is counted while the code runs. A slot has a count and the number of its newest
event, a line that calls backward has those of its passes; what is one step is what lies
between two of them. Where no pass runs, the op of the loop that ran most often counts.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from leafmagic.cell import Place, source_of
from leafmagic.records import Moment, NodeRecord, TensorRecord
from leafmagic.statements import Loops, loops_at

Record = NodeRecord | TensorRecord


@dataclass(slots=True)
class Lap:
    """The passes from one line: how many returned, and when the newest two did."""

    site: int
    times: int = 0
    finished: int = 0
    before: int = 0


class Ran(NamedTuple):
    """See `leafmagic.graph.Node` for the words."""

    ran: int = 0
    ran_of: int = 0
    in_newest: bool = True
    shapes: tuple[tuple[int, ...], ...] = ()


OUTSIDE = Ran()


class Laps:
    """The passes of a trace by the line that called them.

    Parameters
    ----------
    place : callable
        From a site to its `Place`.

    Attributes
    ----------
    by_site : dict
        The `Lap` of each site.
    ended : bool
        Whether the traced code came to its end, so that no step is under way.
    """

    def __init__(self, place: Callable[[int], Place | None]) -> None:
        self.by_site: dict[int, Lap] = {}
        self.ended = False
        self._place = place
        self._loops: dict[int, Loops] = {}
        self._up_to: list[int] = []
        self._within: list[tuple[Lap, int]] = []

    def passed(self, site: int, finished: int, newest: int) -> None:
        """Take in a pass that returned.

        Parameters
        ----------
        finished : int
            Ordinal of its end.
        newest : int
            The highest index of a record so far: what is new since the pass before was
            made on the way to this one.
        """
        lap = self.by_site.get(site)
        if lap is None:
            lap = self.by_site[site] = Lap(site)
        lap.times += 1
        lap.before, lap.finished = lap.finished, finished
        if not self._up_to or newest > self._up_to[-1]:
            self._up_to.append(newest)
            self._within.append((lap, lap.times))

    def loops(self, site: int) -> Loops:
        """Return the loops around a site, outermost first, and the function around them."""
        found = self._loops.get(site)
        if found is None:
            place = self._place(site)
            found = Loops("", 0, ())
            if place is not None:
                found = loops_at(source_of(place.filename), place.filename, place.line)
            self._loops[site] = found
        return found

    def judge(self, records: Iterable[Record]) -> Callable[[Record], Ran]:
        """Return what tells of each record how often it ran.

        Parameters
        ----------
        records : iterable of NodeRecord or TensorRecord
            All that the graph is made of.
        """
        counts: dict[int, int] = {}
        first: dict[int, int] = {}
        made: dict[int, Moment] = {}
        for record in records:
            moment = record.made
            if moment.what and moment.site:
                key = id(moment)
                made[key] = moment
                counts[key] = max(counts.get(key, 0), record.count)
                first[key] = min(first.get(key, record.index), record.index)
        leaders: dict[Loops, int] = {}
        for key, moment in made.items():
            leader = leaders.setdefault(self.loops(moment.site), key)
            if (counts[key], -first[key]) > (counts[leader], -first[leader]):
                leaders[self.loops(moment.site)] = key
        known: dict[int, Ran] = {}

        def ran(record: Record) -> Ran:
            key = id(record.made)
            found = known.get(key)
            if found is None and key not in made:
                found = OUTSIDE
            elif found is None:
                moment, count = made[key], counts[key]
                found = self._in_passes(moment, count, first[key])
                if found is None:
                    leader = leaders[self.loops(moment.site)]
                    found = self._without(moment, count, made[leader], counts[leader])
                known[key] = found
            if isinstance(record, TensorRecord) and record.shapes:
                return self._shaped(record, found)
            return found

        return ran

    def _shaped(self, record: TensorRecord, found: Ran) -> Ran:
        """Add the shapes that were seen, unless several runs of one step are in the slot."""
        steps = sum([lap.times for lap in self.by_site.values()]) + len(self.by_site)
        if len(record.shapes) < 2 or (record.count > steps and record.nid < 0):
            return found
        return found._replace(shapes=tuple(record.shapes))

    def _in_passes(self, moment: Moment, count: int, index: int) -> Ran | None:
        """Judge a slot by the passes of its loop; None where it has none."""
        if not self.by_site:
            return None
        mine = self.loops(moment.site)
        at = bisect_left(self._up_to, index)
        on_the_way, nth = self._within[at] if at < len(self._within) else (None, 0)
        around = self._laps_around(mine)
        if around:
            # In the words of the cell it is in the loop of these passes.
            if on_the_way in around and on_the_way is not None and count <= on_the_way.times:
                lap = on_the_way
            else:
                lap = max(around, key=lambda one: one.times)
            return self._of_lap(moment, count, lap, after=self._is_after(moment, lap))
        if on_the_way is None or any(
            self.loops(lap.site).function == mine.function and self.loops(lap.site).around
            for lap in self.by_site.values()
        ):
            # Before or after the loop, or in one around it.
            return None
        if count == 1 and nth == 1:
            # What was done first, to begin with, may not be in the loop at all.
            return OUTSIDE
        return self._of_lap(moment, count, on_the_way, after=False)

    def _laps_around(self, mine: Loops) -> list[Lap]:
        """Return the passes whose loop is around a place; of nested ones the innermost."""
        found: dict[int, list[Lap]] = {}
        for lap in self.by_site.values():
            theirs = self.loops(lap.site)
            deep = len(theirs.around)
            if theirs.function == mine.function and deep and mine.around[:deep] == theirs.around:
                found.setdefault(deep, []).append(lap)
        return found[max(found)] if found else []

    def _is_after(self, moment: Moment, lap: Lap) -> bool:
        here, there = self._place(moment.site), self._place(lap.site)
        return here is not None and there is not None and here.line > there.line

    def _of_lap(self, moment: Moment, count: int, lap: Lap, *, after: bool) -> Ran:
        times = lap.times
        if not self.ended and count == times - 1 and moment.ordinal > lap.before:
            # Its turn in this step is still to come.
            times = count
        bound = lap.finished if after and self.ended else lap.before
        return Ran(count, max(count, times), moment.ordinal > bound)

    def _without(self, moment: Moment, count: int, leader: Moment, most: int) -> Ran:
        """Judge a slot by the op of its loop, or of its function, that ran most often."""
        if most < 2:
            return OUTSIDE
        if not self.ended and count == most - 1:
            most = count
        if moment is leader or count >= most:
            return Ran(count, max(count, most))
        return Ran(count, most, moment.ordinal > leader.ordinal)

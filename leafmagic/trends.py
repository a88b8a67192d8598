"""How gradients and losses go over the steps of a loop."""

from __future__ import annotations

import dataclasses
import math
from array import array
from dataclasses import dataclass, field

from leafmagic.breaks import GradientsMeasured, Measured
from leafmagic.folding import Slots
from leafmagic.graph import GradStats
from leafmagic.records import NodeRecord, TensorRecord
from leafmagic.series import Series

LEAF_COLUMNS = ("step", "norm", "max", "mean", "zeros", "bad", "update", "site", "order")
ROOT_COLUMNS = ("step", "value", "known", "at")
LONGEST_TREND = 32
_MOST_LONG = 200
"""So many leaves have a long history, those after them a short one."""


@dataclass(slots=True)
class Trend:
    """What was measured of one leaf or node.

    Attributes
    ----------
    stats : GradStats or None
        The newest.
    steps, norms : array
        The newest norms, oldest first, and in which pass of its place each was measured.
    series : Series or None
        Of a leaf, with `LEAF_COLUMNS`.
    """

    stats: GradStats | None = None
    norms: array[float] = field(default_factory=lambda: array("d"))
    steps: array[int] = field(default_factory=lambda: array("q"))
    series: Series | None = None

    def add(self, stats: GradStats, site: int, order: int) -> None:
        """Take in a measurement; how far the newest step moved it stays known."""
        if stats.update is None and self.stats is not None:
            stats = dataclasses.replace(stats, update=self.stats.update)
        self.stats = stats
        self.norms.append(stats.norm)
        self.steps.append(stats.step)
        if len(self.norms) > LONGEST_TREND:
            del self.norms[0], self.steps[0]
        if self.series is not None:
            row = stats.step, stats.norm, stats.max, stats.mean, stats.zeros, stats.bad
            self.series.add(*row, math.nan, site, order)


@dataclass(slots=True)
class Root:
    """The passes from one place.

    Attributes
    ----------
    site : int
    what : str
        ``backward`` or ``grad``.
    steps : int
        How many ran to their end.
    curve : Series
        With `ROOT_COLUMNS`; `known` is 0 where the root is no number, or lies on a device.
    broke : tuple of rows
        The rows up to the first value that was not finite: they stay when others are thinned.
    """

    site: int
    what: str = "backward"
    steps: int = 0
    curve: Series = field(default_factory=lambda: Series(ROOT_COLUMNS))
    broke: tuple[tuple[float, ...], ...] = ()
    waiting: float | None = None

    def add(self, value: float | None, at: float) -> None:
        """Take in the value of a pass that came to its end."""
        self.steps += 1
        row = self.steps, math.nan if value is None else value, value is not None, at
        self.curve.add(*row)
        if value is not None and not self.broke and not math.isfinite(value):
            self.broke = tuple(list(self.curve)[-LONGEST_TREND:])

    def rows(self) -> list[tuple[float, ...]]:
        """Return what is kept of the values, oldest first."""
        found = {row[0]: row for row in (*self.curve, *self.broke)}
        return [found[step] for step in sorted(found)]


class Trends:
    """Follows what is measured, by the slots of a trace.

    Parameters
    ----------
    slots : Slots

    Attributes
    ----------
    leaves, nodes : dict
        From the index of a record to its `Trend`.
    roots : dict
        From the site of passes to a `Root`.
    passes : int
        How many ran to their end, from all places.
    births : dict
        From the index of a node that broke a gradient to ``"nan"`` or ``"inf"``.
    """

    def __init__(self, slots: Slots) -> None:
        self.leaves: dict[int, Trend] = {}
        self.nodes: dict[int, Trend] = {}
        self.roots: dict[int, Root] = {}
        self.births: dict[int, str] = {}
        self.passes = 0
        self._slots = slots

    @property
    def steps(self) -> int:
        """How often the place ran from which most passes began."""
        roots = [root for root in self.roots.values() if root.what == "backward"]
        return max([root.steps for root in roots or self.roots.values()], default=0)

    def passed(self, site: int, what: str, value: float | None, at: float) -> None:
        """Take in that a pass came to its end."""
        root = self.roots.get(site)
        if root is None:
            root = self.roots[site] = Root(site)
        root.what = what
        if value is None:
            value = root.waiting
        root.waiting = None
        self.passes += 1
        root.add(value, at)

    def measured(self, event: GradientsMeasured) -> None:
        """Take in what was measured in a pass, before its end was told."""
        # Leaves moved between the pass that was measured before and this one.
        for tid, ratio in event.moved:
            record = self._slots.tensors.get(tid)
            trend = None if record is None else self.leaves.get(record.index)
            if trend is not None and trend.stats is not None and trend.series is not None:
                trend.stats = dataclasses.replace(trend.stats, update=ratio)
                trend.series.set_last("update", ratio)
        if event.began:
            root = self.roots.get(event.site)
            step = 1 if root is None else root.steps + 1
            if root is None:
                root = self.roots[event.site] = Root(event.site)
            root.waiting = event.value
            self._leaves(event, step)
            self._nodes(event, step)

    def _leaves(self, event: GradientsMeasured, step: int) -> None:
        for tid, numbers in event.leaves:
            record = self._slots.tensors.get(tid)
            if record is None:
                continue
            trend = self.leaves.get(record.index)
            if trend is None:
                size = () if len(self.leaves) < _MOST_LONG else (32, 32)
                trend = self.leaves[record.index] = Trend(series=Series(LEAF_COLUMNS, *size))
            trend.add(_stats(numbers, step), event.site, self.passes + 1)

    def _nodes(self, event: GradientsMeasured, step: int) -> None:
        records, births = self.records(event), dict(event.births)
        for index, *_, numbers in event.nodes:
            record = records.get(index)
            if record is None:
                continue
            if index in births:
                self.births.setdefault(record.index, births[index])
            if numbers is not None:
                trend = self.nodes.setdefault(record.index, Trend())
                trend.add(_stats(numbers, step), event.site, self.passes + 1)

    def records(self, event: GradientsMeasured) -> dict[int, NodeRecord]:
        """Return the records of the nodes of a pass, by their index in it.

        A node has a number that is known, or else it is what the record of the node above
        leads to.
        """
        found: dict[int, NodeRecord] = {}
        nodes = self._slots.nodes
        for index, nid, name, parent, entry, _ in event.nodes:
            record = nodes.get(nid) if nid else None
            if record is None and parent in found:
                links = found[parent].links
                record = self._behind(links[entry].to) if entry < len(links) else None
            if record is not None and record.seen.name in ("", name):
                found[index] = record
        return found

    def _behind(self, to: NodeRecord | TensorRecord) -> NodeRecord | None:
        return to if isinstance(to, NodeRecord) else self._slots.nodes.get(to.nid)


def _stats(numbers: Measured, step: int) -> GradStats:
    norm, largest, mean, zeros, bad, size, histogram = numbers
    return GradStats(step, norm, largest, mean, zeros, bad, size, None, histogram)

"""Measuring gradients while a backward pass runs: how large they are at each node and leaf.

Hooks on the nodes of one pass read what comes in. The numbers stay on the device where
they were computed until the pass is over, and are fetched in one transfer for each device.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from leafmagic.behind import Behind
from leafmagic.breaks import GradientsMeasured
from leafmagic.causes import may_break
from leafmagic.counting import is_calm, is_unsound, readable
from leafmagic.drift import Drift
from leafmagic.ledger import Ledger
from leafmagic.log import EventLog
from leafmagic.marks import ACCUMULATE_GRAD
from leafmagic.nodewatch import Broken, blamed
from leafmagic.options import Grads, Options
from leafmagic.readout import Readout

MOST_NODES = 5_000
"""Of larger graphs the nodes that are nearest to the root are measured."""

_CREDIT_S = 0.003
"""So long may be measured before the share counts."""


class _Node(NamedTuple):
    nid: int
    name: str
    parent: int
    entry: int


class Meter:
    """Decides which passes are measured, and measures them.

    Parameters
    ----------
    ledger : Ledger
    log : EventLog

    Attributes
    ----------
    on : {"auto", "norm", "off"}
        ``norm`` measures every pass, ``auto`` the first from each place and so many later
        ones that `share` holds.
    share : float
        The share of the time that ``auto`` takes at most, 0 to 1.
    histogram : bool
        Whether elements are counted by their power of ten.
    seconds : float
        What measuring took so far of the processor's time: a busy machine does not count.
    measured, passes : int
        How many passes were measured, of how many.
    cut : int
        Whether there was a graph with more than `MOST_NODES` nodes, so that only so many
        were measured; 0 if not.
    """

    def __init__(self, ledger: Ledger, log: EventLog) -> None:
        self.on: Grads = "auto"
        self.share = 0.02
        self.histogram = False
        self.seconds = 0.0
        self.measured = self.passes = self.cut = 0
        self._ledger, self._log = ledger, log
        self._began = 0.0
        self._sites: set[int] = set()
        self._last_s = 0.0
        self._readout = Readout()
        self._drift = Drift()
        self._behind: Behind | None = None
        self._handles: list[Any] = []
        self._facts: list[_Node] = []
        self._failure: Exception | None = None
        self.broken: dict[int, Broken] = {}
        """By index the nodes that broke a gradient in the newest measured pass, with the cause."""
        self.broke = False
        """Whether the newest measured pass gave a leaf what is not finite."""

    def set(self, options: Options) -> None:
        """Do as a trace was asked to."""
        self.on, self.histogram = options.grads, options.histogram
        self.share = options.share / 100

    def is_due(self, site: int) -> bool:
        """Tell whether the next pass from a place is to be measured."""
        self.passes += 1
        self._began = self._began or time.perf_counter()
        if self.on == "off":
            return False
        if self.on == "auto" and site in self._sites:
            allowed = max(_CREDIT_S, self.share * (time.perf_counter() - self._began))
            if self.seconds + self._last_s > allowed:
                return False
        return is_calm()

    def look_at_updates(self) -> None:
        """See how far leaves moved since the last pass that was measured."""
        if self._drift:
            self._drift.read(self._readout)

    def begin(self, site: int, roots: list[Tensor], behind: Behind, started: float) -> None:
        """Put hooks on the nodes of a pass; all of them or none.

        Parameters
        ----------
        started : float
            When work on it began, by `time.thread_time`.
        """
        try:
            self._sites.add(site)
            self._failure = None
            self.broken = {}
            self._behind = behind
            number = self._ledger.number_of
            for node, (parent, entry) in zip(behind.nodes, behind.parents, strict=True):
                leaf = type(node) is ACCUMULATE_GRAD
                nid, name = (0, "") if leaf else (number(node), node.name())
                self._facts.append(_Node(nid, name, parent, entry))
            for index, node in enumerate(behind.nodes):
                if type(node) is ACCUMULATE_GRAD:
                    # A hook before it would keep torch from taking the gradient as it is.
                    self._handles.append(node.register_hook(partial(self._filled, index)))
                else:
                    self._handles.append(node.register_prehook(partial(self._arrived, index)))
                    if may_break(node):
                        self._handles.append(node.register_hook(partial(self._left, index)))
            self._readout.begin(roots[0] if len(roots) == 1 else None)
        except BaseException:
            self.drop()
            raise
        finally:
            self._last_s = time.thread_time() - started

    def _arrived(self, index: int, coming: Any) -> None:
        """Measure the gradient that arrives at a node; one that is made of several is summed."""
        started = time.thread_time()
        self._measure(("in", index), coming)
        self._last_s += time.thread_time() - started

    def _left(self, index: int, going: Any, coming: Any) -> None:
        """Look for what made the gradient infinite, while the node still has what it saved."""
        started = time.thread_time()
        try:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                into, out = readable(coming), readable(going)
                here = into and self._failure is None
                if here and any(map(is_unsound, out)) and not any(map(is_unsound, into)):
                    node = None if self._behind is None else self._behind.nodes[index]
                    found = node and blamed(self._facts[index].nid, node, into, out)
                    if found:
                        self.broken[index] = found
        except Exception as error:
            self._failure = error
        self._last_s += time.thread_time() - started

    def _filled(self, index: int, _going: Any, coming: Any) -> None:
        """Measure the ``.grad`` of a leaf that a pass has just added to."""
        started = time.thread_time()
        leaf = None if self._behind is None else self._behind.nodes[index].variable
        if leaf is not None:
            with torch._C.DisableTorchFunction():
                total = leaf.grad
            # A hook of the user's may have used it already, and cleared it.
            if not self._measure(("leaf", index), coming if total is None else (total,)):
                # Was it this pass, or one before, that made it so?
                self._measure(("in", index), coming)
        self._last_s += time.thread_time() - started

    def _measure(self, key: tuple[str, int], grads: Any) -> bool:
        """Measure the first gradient of some; tell whether it is known to be finite."""
        if self._failure is not None:
            return True
        try:
            with torch._C.DisableTorchFunction():
                found = readable(grads)
                return not found or self._readout.add(key, found[0], histogram=self.histogram)
        except Exception as error:
            self._failure = error
            return True

    def end(self, site: int, began: int, asked: Any, result: Any, *, failed: bool) -> None:
        """Take the hooks away and record what was measured.

        Parameters
        ----------
        site, began : int
            Of the pass.
        asked, result : list of Tensor, tuple
            What ``autograd.grad`` was asked for, and what it returned.
        """
        if self._behind is None:
            return
        started = time.thread_time()
        try:
            behind, facts = self._behind, self._facts
            if self._failure is not None:
                raise self._failure
            if failed:
                # How far the gradient came is no step; how far leaves moved before is told.
                self._tell_updates()
                return
            if asked and isinstance(result, tuple | list):
                for number, grad in enumerate(result):
                    self._measure(("asked", number), (grad,))
            leaves = [i for i in behind.leaves if type(behind.nodes[i]) is ACCUMULATE_GRAD]
            self._drift.take([(behind.leaves[i], behind.nodes[i].variable) for i in leaves])
            self._tell(site, began, behind, facts, asked)
            self.measured += 1
            self.cut = self.cut or (0 if behind.whole else len(behind.nodes))
        finally:
            self.drop()
            self._last_s += time.thread_time() - started
            self.seconds += self._last_s

    def _tell(self, site: int, began: int, behind: Behind, facts: list[_Node], asked: Any) -> None:
        """Fetch the numbers and record them."""
        with torch._C.DisableTorchFunction(), torch.no_grad():
            value, found, moved = self._readout.fetch()
        nodes, leaves = [], []
        sound: set[int] = set()
        bad: dict[int, str] = {}
        for index, fact in enumerate(facts):
            measured = found.get(("in", index))
            if measured is not None and measured.bad:
                bad[index] = "nan" if math.isnan(measured.norm) else "inf"
            elif measured is not None:
                sound.add(index)
            if type(behind.nodes[index]) is ACCUMULATE_GRAD:
                total = found.get(("leaf", index))
                if total is not None:
                    leaves.append((behind.leaves[index], total))
            else:
                nodes.append((index, *fact, measured))
        for number, tensor in enumerate(asked or ()):
            total = found.get(("asked", number))
            if total is not None:
                leaves.append((self._ledger.tensor(tensor), total))
        self.broke = not bad.keys().isdisjoint(behind.leaves)
        # A loss that is no number itself was broken on the way there.
        known = value is None or math.isfinite(value)
        births = tuple(_births(behind, bad, sound)) if known else ()
        # One that came to no leaf was masked on its way.
        reached = tuple([behind.leaves[index] for index in behind.leaves if index in bad])
        born = {index for index, _ in births} if reached else set()
        self.broken = {
            index: broken._replace(leaves=reached)
            for index, broken in self.broken.items()
            if index in born and broken.cause
        }
        self._log.emit(
            GradientsMeasured(
                self._log.next_ordinal(), site, began, value, tuple(nodes), tuple(leaves),
                tuple(moved), births,
            )
        )  # fmt: skip

    def _tell_updates(self) -> None:
        """Record how far leaves moved."""
        with torch._C.DisableTorchFunction(), torch.no_grad():
            _, _, moved = self._readout.fetch()
        if moved:
            event = self._log.next_ordinal(), 0, 0, None, (), (), tuple(moved), ()
            self._log.emit(GradientsMeasured(*event))

    def flush(self) -> None:
        """Record how far the last step moved the leaves, when all is over."""
        self.look_at_updates()
        self._tell_updates()
        self._drift.clear()

    def drop(self) -> None:
        """Take the hooks away."""
        for handle in self._handles:
            handle.remove()
        self._handles, self._facts = [], []
        self._behind = None
        self._readout.clear()


def _births(behind: Behind, bad: dict[int, str], sound: set[int]) -> Iterator[tuple[int, str]]:
    """Yield the nodes that made a sound gradient unsound, where that is certain."""
    if not bad:
        return
    above: dict[int, set[int]] = {}
    for (to, _), uses in behind.users.items():
        above.setdefault(to, set()).update(user for user, _ in uses)
    for index, how in bad.items():
        users = above.get(index, set())
        if len(users) == 1 and users <= sound:
            yield users.pop(), how

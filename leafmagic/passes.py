"""Recording backward passes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from torch import Tensor

from leafmagic import nodewatch
from leafmagic.autograd import corrupted_saves, flatten, grad_fn_of
from leafmagic.behind import Behind
from leafmagic.breaks import Foreseen, GradientBroke, GradientWithheld, MemoryChanged
from leafmagic.counting import is_calm
from leafmagic.events import BackwardCalled, BackwardReturned, PassRepeated
from leafmagic.fingerprints import MemoryWatch
from leafmagic.ledger import REFS, Ledger
from leafmagic.log import EventLog
from leafmagic.meters import MOST_NODES, Meter
from leafmagic.nodewatch import NodeWatch
from leafmagic.withheld import FunctionWatch

_LOOKS = 2
"""So many passes from one place are watched."""
_MOST_ROOTS = 50
_MOST_LOOKS = 5
"""So many where the root is no number."""

_Places = tuple[tuple[int, str, bool, int], ...]


class PassRecorder:
    """Turns calls of ``backward`` and ``autograd.grad`` into events.

    Parameters
    ----------
    ledger : Ledger
    log : EventLog

    Attributes
    ----------
    watching : bool
        Whether gradients are looked at while the first passes from a place run.
    meter : Meter
        What measures gradients.
    on_passed : callable or None
        Called with the site of a pass that returned.
    """

    def __init__(self, ledger: Ledger, log: EventLog) -> None:
        self.ledger = ledger
        self.log = log
        self._sites: set[int] = set()
        self._open: list[tuple[BackwardCalled, _Places, float | None, list[Tensor]]] = []
        self.watching = True
        self._looks: dict[int, int] = {}
        self._rewatched = False
        self._watch: NodeWatch | None = None
        self.meter = Meter(ledger, log)
        self._functions: FunctionWatch | None = None
        self.memory = MemoryWatch()
        self._checks: dict[int, int] = {}
        self.on_passed: Callable[[int], None] | None = None

    def begin(self, site: int, name: str, args: Any, kwargs: Any) -> list[Tensor]:
        """Record that a pass is about to run; return its roots."""
        ledger = self.ledger
        roots = flatten(args[:1], [])
        tids = tuple([ledger.tensor(root) for root in roots])
        asked: tuple[int, ...] = ()
        inputs: list[Tensor] = []
        if name == "grad":
            inputs = flatten([*args[1:2], kwargs.get("inputs")], [])
            asked = tuple([ledger.tensor(t) for t in inputs])
        for root in roots:
            node = None if ledger.is_deep(root) else grad_fn_of(root)
            if node is not None:
                ledger.node(node)
        create = bool(kwargs.get("create_graph", False))
        retain = kwargs.get("retain_graph")
        called = BackwardCalled(
            self.log.next_ordinal(),
            site,
            name,
            tids,
            asked,
            create if retain is None else bool(retain),
            create,
            *ledger.take(),
        )
        again = self._places(called, roots)
        if not again:
            self.log.emit(called)
        whole = name == "backward" and kwargs.get("inputs") is None
        self._check(site, roots, whole=whole)
        value = _value_of(roots)
        if not self._open:
            self._look(site, roots, inputs, value, whole=whole)
        self._open.append((called, again, value, inputs))
        return roots

    def _check(self, site: int, roots: list[Tensor], *, whole: bool) -> None:
        """Compare what the nodes saved with what was written since, in the first passes."""
        checks = self._checks.get(site, 0)
        if checks >= _MOST_LOOKS or any(map(self.ledger.is_deep, roots)):
            return
        self._checks[site] = checks + 1
        for how, wrote, tid, first, last, node, slot in self.memory.overwritten(roots):
            nid, name = self.ledger.number_of(node), node.name()
            event = self.log.next_ordinal(), site, how, wrote, tid, first, last, nid, name, slot
            self.log.emit(MemoryChanged(*event))
        if whole and self.memory.writes:
            # All nodes will be asked for what they saved.
            self._foresee(site, roots)

    def _foresee(self, site: int, roots: list[Tensor]) -> bool:
        """Record what a pass will be refused for, if it will."""
        roots = [root for root in roots if grad_fn_of(root) is not None]
        found = tuple(corrupted_saves(self.ledger.number_of, roots))
        if found:
            tids = tuple([self.ledger.tensor(root) for root in roots])
            self.log.emit(Foreseen(self.log.next_ordinal(), site, tids, found))
        return bool(found)

    def look_ahead(self) -> None:
        """Look at graphs that no pass has run over when the cell is at its end.

        What an optimizer's step wrote does not count. The graph of the last loss, kept by
        ``retain_graph``, is older than the weights after each step; none is meant to go back
        through it. Where a pass does, torch refuses, and that is explained.
        """
        if not self.memory.writes or self._looks or self._checks:
            return
        live = [t for _, t in self.ledger.live() if grad_fn_of(t) is not None]
        for number in (True, False):
            roots = [t for t in live if (t.numel() == 1) is number and not self.ledger.is_deep(t)]
            if self._foresee(0, roots[-_MOST_ROOTS:]):
                return

    def _look(
        self,
        site: int,
        roots: list[Tensor],
        inputs: list[Tensor],
        value: float | None,
        *,
        whole: bool,
    ) -> None:
        """Watch the pass, or measure it, if that is due."""
        started = time.thread_time()
        meter = self.meter
        meter.look_at_updates()
        measured, watched = meter.is_due(site), self._is_watched(site, value)
        if not (measured or watched) or any(map(self.ledger.is_deep, roots)):
            return
        behind = Behind(roots, inputs, MOST_NODES if measured else nodewatch.MOST_NODES + 1)
        try:
            if measured:
                meter.begin(site, roots, behind, started)
            if watched:
                self._watch = NodeWatch(self.ledger)
                self._watch.begin(roots, behind)
            if watched and whole:
                # Of a pass that is asked for some only, None may be the right answer.
                self._functions = FunctionWatch(self.ledger)
                self._functions.begin(behind)
        except BaseException:
            meter.drop()
            raise

    def _is_watched(self, site: int, value: float | None) -> bool:
        """Tell whether a pass is one of the first from its place, or its root is no number."""
        if not self.watching:
            return False
        looks = self._looks.get(site, 0)
        broken = value is not None and not math.isfinite(value)
        if looks >= _LOOKS and (looks >= _MOST_LOOKS or not broken):
            return False
        self._looks[site] = looks + 1
        return is_calm()

    def _tell(self, site: int, *, failed: bool) -> None:
        """Record what was seen in the pass that was watched."""
        watch, self._watch = self._watch, None
        functions, self._functions = self._functions, None
        for kept in [] if functions is None else functions.end(failed=failed):
            self.log.emit(GradientWithheld(self.log.next_ordinal(), site, *kept))
        if watch is not None:
            for broken in watch.end(failed=failed):
                # What is broken once breaks the passes after it, too.
                self._looks[site] = _MOST_LOOKS
                self.log.emit(GradientBroke(self.log.next_ordinal(), site, *broken))

    def _places(self, called: BackwardCalled, roots: list[Tensor]) -> _Places:
        """Return what made the roots, if a pass is the one of the step before, once more."""
        if called.site not in self._sites:
            self._sites.add(called.site)
            return ()
        if called.tensors or called.nodes or called.inputs:
            return ()
        refs = [REFS.get(id(root)) for root in roots]
        found = [ref.repeat.place for ref in refs if ref is not None and ref.repeat is not None]
        return tuple(found) if len(found) == len(refs) else ()

    def end(self, *, failed: bool, result: Any = None) -> None:
        """Record that the pass that began last returned, or raised."""
        called, again, value, inputs = self._open.pop()
        if not self._open:
            watched = self._watch is not None
            if watched:
                self._tell(called.site, failed=failed)
            self._read_meter(called, inputs, result, failed=failed)
            if self.watching and not watched and not failed:
                self._tell_measured(called.site)
        ordinal, now = self.log.next_ordinal(), time.perf_counter()
        if again and not failed:
            repeated = PassRepeated(
                ordinal,
                called.site,
                called.ordinal,
                called.what,
                called.roots,
                called.retain_graph,
                called.create_graph,
                again,
                value,
                now,
            )
            self.log.note(repeated)
        else:
            if again:
                self.log.emit(called)
            returned = BackwardReturned(ordinal, called.site, called.ordinal, failed, value, now)
            self.log.emit(returned)
        if self.on_passed is not None and not failed:
            self.on_passed(called.site)

    def _read_meter(
        self, called: BackwardCalled, inputs: Any, result: Any, *, failed: bool
    ) -> None:
        """Record what was measured in the pass, and watch the next one if something broke."""
        meter, site = self.meter, called.site
        meter.end(site, called.ordinal, inputs, result, failed=failed)
        if meter.broke and self._looks.get(site, 0) == _LOOKS and not self._rewatched:
            # It was sound in the first passes.
            self._rewatched = True
            self._looks[site] = 0

    def _tell_measured(self, site: int) -> None:
        """Record what broke a gradient in a pass that was measured, if nothing was told yet."""
        if self.meter.broken and self._looks.get(site, 0) < _MOST_LOOKS:
            self._looks[site] = _MOST_LOOKS
            for broken in list(self.meter.broken.values())[:1]:
                self.log.emit(GradientBroke(self.log.next_ordinal(), site, *broken))
        self.meter.broken = {}


def _value_of(roots: list[Tensor]) -> float | None:
    """Return the value of the root, if it is one number that lies at hand."""
    if len(roots) != 1 or type(roots[0]) is not Tensor:
        return None
    root = roots[0]
    if root.device.type != "cpu" or root.numel() != 1 or not root.is_floating_point():
        return None
    return root.detach().item() if is_calm() else None

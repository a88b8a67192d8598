"""Recording backward passes."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from leafmagic.autograd import flatten, grad_fn_of
from leafmagic.events import BackwardCalled, BackwardReturned, PassRepeated
from leafmagic.ledger import REFS, Ledger
from leafmagic.log import EventLog


class PassRecorder:
    """Turns calls of ``backward`` and ``autograd.grad`` into events.

    Parameters
    ----------
    ledger : Ledger
    log : EventLog
    """

    def __init__(self, ledger: Ledger, log: EventLog) -> None:
        self.ledger = ledger
        self.log = log
        self._sites: set[int] = set()
        self._open: list[tuple[BackwardCalled, bool]] = []

    def begin(self, site: int, name: str, args: Any, kwargs: Any) -> list[Tensor]:
        """Record that a pass is about to run; return its roots."""
        ledger = self.ledger
        roots = flatten(args[:1], [])
        tids = tuple([ledger.tensor(root) for root in roots])
        asked: tuple[int, ...] = ()
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
        again = self._is_again(called, roots)
        if not again:
            self.log.emit(called)
        self._open.append((called, again))
        return roots

    def _is_again(self, called: BackwardCalled, roots: list[Tensor]) -> bool:
        """Tell whether a pass is the one of the step before, once more."""
        if called.site not in self._sites:
            self._sites.add(called.site)
            return False
        if called.tensors or called.nodes or called.inputs:
            return False
        refs = [REFS.get(id(root)) for root in roots]
        return all(ref is not None and ref.repeat is not None for ref in refs)

    def end(self, *, failed: bool) -> None:
        """Record that the pass that began last returned, or raised."""
        called, again = self._open.pop()
        ordinal = self.log.next_ordinal()
        if again and not failed:
            repeated = PassRepeated(
                ordinal,
                called.site,
                called.ordinal,
                called.what,
                called.roots,
                called.retain_graph,
                called.create_graph,
            )
            self.log.note(repeated)
            return
        if again:
            self.log.emit(called)
        self.log.emit(BackwardReturned(ordinal, called.site, called.ordinal, failed))

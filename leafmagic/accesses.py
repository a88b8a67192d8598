"""Recording reads, writes and method calls of tensors that matter to autograd."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import FunctionType
from typing import Any

import torch
from torch import Tensor

from leafmagic.callers import Caller
from leafmagic.events import Accessed
from leafmagic.fingerprints import MemoryWatch
from leafmagic.functions import READ, WRITE
from leafmagic.hooked import alike_hooks
from leafmagic.ledger import Ledger
from leafmagic.log import EventLog
from leafmagic.sites import Sites

Flags = tuple[bool, bool, bool]
"""Whether a tensor is a leaf, requires grad, retains grad."""


class AccessRecorder:
    """Turns uses of ``.grad``, ``.data``, ``retain_grad()`` and the like into events.

    Parameters
    ----------
    ledger : Ledger
    log : EventLog
    sites : Sites
    """

    def __init__(self, ledger: Ledger, log: EventLog, sites: Sites) -> None:
        self.ledger = ledger
        self.log = log
        self.sites = sites
        self.memory: MemoryWatch | None = None
        self.on_unfilled: Callable[[], None] | None = None
        """Called when a place first reads a gradient that a computed tensor does not have."""
        self.telling = False
        """Whether the reader is told of such a read, so that torch need not."""
        self._read: set[int] = set()

    def look(self, tensor: Tensor, kind: int, name: str, site: int) -> tuple[Flags, bool]:
        """Return a tensor's flags, and whether the user's expression spells the access."""
        try:
            leaf = tensor.is_leaf
            flags = (leaf, tensor.requires_grad, not leaf and tensor.retains_grad)
        except RuntimeError:
            # A view that torch forbids to look at: let torch say so.
            flags = (False, True, False)
        return flags, kind != READ or self._is_spelt(site, name)

    def _is_spelt(self, site: int, name: str) -> bool:
        """Tell a read that the cell spells out from one by getattr or an inspector."""
        place = self.sites.place(site)
        return place is None or (place.kind == "Attribute" and place.attribute == name)

    def record(
        self,
        site: int,
        kind: int,
        name: str,
        args: Any,
        kwargs: Any,
        result: Any,
        seen: tuple[Flags, bool],
    ) -> None:
        """Record an access that returned."""
        value: Any = args[1] if kind == WRITE and len(args) > 1 else result
        if name == "requires_grad_":
            value = bool((list(args[1:]) + list(kwargs.values()) or [True])[0])
        elif isinstance(value, Tensor):
            value = self.ledger.tensor(value)
        elif not isinstance(value, bool):
            value = -1
        if self.memory is not None and name == "data" and isinstance(value, int):
            self.memory.lend(value, self.ledger.tensor(args[0]))
        elif self.memory is not None and name == "set_data":
            self.memory.replaced(args[0], site, value if isinstance(value, int) else -1)
        flags, mine = seen
        if name == "grad" and mine and value == -1 and not (flags[0] or flags[2]):
            self._look_around(site)
        event = Accessed(
            self.log.next_ordinal(),
            site,
            name,
            self.ledger.tensor(args[0]),
            mine,
            value,
            *flags,
            torch.is_grad_enabled(),
            *self.ledger.take(),
            alike_hooks(args[0]) if name == "register_hook" else 0,
        )
        if name == "set_grad" and value == -1 and not event.tensors:
            self.log.note(event)
        else:
            self.log.emit(event)

    def _look_around(self, site: int) -> None:
        if self.on_unfilled is not None and site not in self._read:
            self._read.add(site)
            self.on_unfilled()


def run_access(call: Caller, func: Any, args: Any, kwargs: Any, *, unfilled: bool) -> Any:
    """Run an access.

    Of a gradient that is `unfilled` torch would warn, and so do we: only we do. But what
    records warnings, or shows them in a way of its own, gets torch's as ever.

    Filters are left alone, since changing them would let other warnings show twice; a
    filter that turns warnings into errors still does.
    """
    __tracebackhide__ = True
    if not unfilled or not _are_printed():
        return call(func, args, kwargs)
    shown = warnings.showwarning

    def show(message: Any, category: Any, *rest: Any, **named: Any) -> None:
        if "that is not a leaf Tensor is being accessed" not in str(message):
            shown(message, category, *rest, **named)

    warnings.showwarning = show
    try:
        return call(func, args, kwargs)
    finally:
        warnings.showwarning = shown


def _are_printed() -> bool:
    """Tell whether warnings go where Python prints them, and nowhere else.

    `warnings.catch_warnings` with ``record=True`` puts a list's method in the place of
    what prints, or (from Python 3.14 on) a list into the context.
    """
    module: Any = warnings
    if module.showwarning is not getattr(module, "_showwarning_orig", None):
        return False
    context = getattr(module, "_get_context", None)
    if context is not None and context().log is not None:
        return False
    return isinstance(getattr(module, "_showwarnmsg_impl", None), FunctionType)

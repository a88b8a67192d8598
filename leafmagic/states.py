"""Reading what live tensors look like now."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from torch import Tensor

from leafmagic import autograd
from leafmagic.ledger import Ledger
from leafmagic.looks import StateRead

MOST_PREVIEWS = 300


def read_states(
    ledger: Ledger, ordinal: Callable[[], int], *, final: bool, measured: bool
) -> Iterator[StateRead]:
    """Yield the state of every live tensor that a trace met.

    Parameters
    ----------
    ledger : Ledger
    ordinal : callable
        Gives the next event's number.
    final : bool
        Whether the trace ends: then all tensors are read, small ones with their values;
        while it runs only those that can have a gradient.
    measured : bool
        Whether to measure gradient norms.
    """
    live = list(ledger.live())
    if not final:
        live = [(tid, t) for tid, t in live if _can_have_grad(t)]
    readable = [t for _, t in live if _can_have_grad(t)]
    norms: dict[int, float | None] = {}
    if measured:
        found = autograd.grad_norms(readable)
        norms = {id(t): norm for t, norm in zip(readable, found, strict=True)}
    for index, (tid, tensor) in enumerate(live):
        shown = final and index < MOST_PREVIEWS
        # A view that torch forbids to look at, or an odd subclass, keeps its last state.
        with contextlib.suppress(RuntimeError if _is_plain(tensor) else Exception):
            read = _state(ordinal(), tid, tensor, norms.get(id(tensor)), shown=shown)
            if read.has_grad and tid in ledger.old_grads and tensor.grad is not None:
                read = read._replace(old_grad=ledger.is_old(tid, tensor.grad))
            yield read


def _is_plain(tensor: Tensor) -> bool:
    return type(tensor) in autograd.KNOWN_TYPES


def _can_have_grad(tensor: Tensor) -> bool:
    try:
        return tensor.requires_grad and autograd.can_be_read(tensor)
    except Exception:
        if _is_plain(tensor):
            raise
        return False


def _state(ordinal: int, tid: int, tensor: Tensor, norm: float | None, *, shown: bool) -> StateRead:
    leaf = tensor.is_leaf
    retains = not leaf and tensor.retains_grad
    grad = tensor.grad if (leaf or retains) else None
    return StateRead(
        ordinal,
        tid,
        tensor.requires_grad,
        leaf,
        retains,
        autograd.version_of(tensor),
        autograd.hook_count(tensor),
        grad is not None,
        norm,
        autograd.preview(tensor) if shown else "",
        autograd.preview(grad) if shown and grad is not None else "",
    )

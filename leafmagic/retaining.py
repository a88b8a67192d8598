"""Keeping gradients that nobody asked the cell to keep: the option ``retain``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from leafmagic.autograd import grad_fn_of
from leafmagic.events import Accessed
from leafmagic.ledger import Ledger
from leafmagic.log import EventLog
from leafmagic.looks import GradientSeen
from leafmagic.sites import Sites

_MOST_HOOKS = 100


class Retainer:
    """Calls ``retain_grad()`` on named tensors inside functions.

    Their names are not looked up (that would keep locals alive) but read from the
    source: what the expression is assigned to, and what its operands are called.
    """

    def __init__(
        self, sites: Sites, ledger: Ledger, log: EventLog, names: tuple[str, ...], hooks: list[Any]
    ) -> None:
        self._hooks = hooks
        self._sites = sites
        self._ledger = ledger
        self._log = log
        self._names = frozenset(names)

    def output(self, site: int, direct: bool, inputs: list[Tensor], made: list[Tensor]) -> None:
        """Look at an op that ran."""
        place = self._sites.place(site)
        if place is None or not direct:
            return
        if len(inputs) == len(place.operands):
            for word, tensor in zip(place.operands, inputs, strict=True):
                self._retain(word, tensor)
        elif len(inputs) == 1:
            for word in place.operands:
                self._retain(word, inputs[0])
        for index, tensor in enumerate(made):
            which = index if place.unpacked else 0
            if which < len(place.targets):
                self._retain(place.targets[which], tensor)

    def _retain(self, name: str, tensor: Tensor) -> None:
        if name in self._names:
            retain_if_possible(tensor, self._ledger.tensor(tensor), self._log, self._hooks)


def retain_if_possible(tensor: Tensor, tid: int, log: EventLog, hooks: list[Any]) -> None:
    """Call ``retain_grad()`` on a non-leaf that requires grad.

    Parameters
    ----------
    hooks : list
        Gets the handle of a hook that has to be removed in the end.

    Notes
    -----
    A local variable is gone when the trace looks for its gradient. So the norm is also
    taken as the gradient passes: a number, for which nothing has to be kept.
    """
    with torch._C.DisableTorchFunction():
        if not tensor.requires_grad or tensor.is_leaf or tensor.retains_grad:
            return
        tensor.retain_grad()
        ordinal = log.next_ordinal()
        flags = (False, True, False)
        log.emit(Accessed(ordinal, 0, "retain_grad", tid, False, -1, *flags, True, (), ()))
        node: Any = grad_fn_of(tensor)
        which = tensor.output_nr

        def note(grads: tuple[Tensor | None, ...]) -> None:
            grad = grads[which] if which < len(grads) else None
            if grad is not None and grad.device.type == "cpu":
                with torch._C.DisableTorchFunction(), torch.no_grad():
                    norm = float(torch.linalg.vector_norm(grad.detach()))
                log.emit(GradientSeen(log.next_ordinal(), tid, norm))

        if len(hooks) >= _MOST_HOOKS:
            # Those of nodes that are gone are gone with them.
            hooks[:] = [hook for hook in hooks if hook.hooks_dict_ref() is not None]
        hooks.append(node.register_prehook(note))

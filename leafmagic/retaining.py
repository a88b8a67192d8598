"""Keeping gradients that nobody asked the cell to keep: the option ``retain``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor
from torch.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)

from leafmagic.autograd import grad_fn_of
from leafmagic.cell import Place
from leafmagic.events import Accessed
from leafmagic.ledger import Ledger
from leafmagic.log import EventLog
from leafmagic.looks import GradientSeen
from leafmagic.sites import USER, Sites

_MOST_HOOKS = 100
_CALL: CodeType = torch.nn.Module.__call__.__code__


class Retainer:
    """Calls ``retain_grad()`` on named tensors as soon as they have it to give.

    Names inside functions are not looked up (that would keep locals alive) but read from
    the source: what an expression is assigned to, and what its operands are called. What a
    module makes is made in torch's code; that it is bound to a name is known when the
    call of the module returns to a line of the user's.

    Attributes
    ----------
    names : frozenset of str
    kept : set of str
        The names for which there was a tensor whose gradient is kept.
    """

    def __init__(self, sites: Sites, ledger: Ledger, log: EventLog, names: tuple[str, ...]) -> None:
        self.names = frozenset(names)
        self.kept: set[str] = set()
        self._sites = sites
        self._ledger = ledger
        self._log = log
        self._hooks: list[Any] = []
        self._listening: list[Any] = []

    def start(self) -> None:
        """Listen to the calls of modules, if any name is asked for."""
        if self.names and not self._listening:
            self._listening = [
                register_module_forward_pre_hook(self._enters),
                register_module_forward_hook(self._returns),
            ]

    def finish(self, *, tell: bool) -> list[str]:
        """Take all hooks away; say what was missed, if that is to be told."""
        while self._listening:
            self._listening.pop().remove()
        while self._hooks:
            self._hooks.pop().remove()
        missed = self.missed(self.names) if tell else ""
        return [missed] if missed else []

    def missed(self, names: Iterable[str]) -> str:
        """Say for which of these names nothing was retained; empty where there are none."""
        left = " or ".join(f"`{name}`" for name in sorted({*names}) if name not in self.kept)
        return f"nothing called {left} was retained" if left else ""

    def output(self, site: int, direct: bool, inputs: list[Tensor], made: list[Tensor]) -> None:
        """Look at an op that ran."""
        place = self._sites.place(site)
        if place is None or not direct:
            return
        if len(inputs) == len(place.operands):
            for word, tensor in zip(place.operands, inputs, strict=True):
                self.keep(word, tensor)
        elif len(inputs) == 1:
            for word in place.operands:
                self.keep(word, inputs[0])
        self._bound(place, made)

    def keep(self, name: str, tensor: Any) -> None:
        """Retain the gradient of what a name stands for, if it was asked for."""
        if name in self.names and isinstance(tensor, Tensor):
            retain_if_possible(tensor, self._ledger.tensor(tensor), self._log, self._hooks)
            with torch._C.DisableTorchFunction():
                if tensor.requires_grad and (tensor.is_leaf or tensor.retains_grad):
                    self.kept.add(name)

    def _bound(self, place: Place, made: Sequence[Any]) -> None:
        for index, value in enumerate(made):
            which = index if place.unpacked else 0
            if which < len(place.targets):
                self.keep(place.targets[which], value)

    def _enters(self, _module: Any, given: Any) -> None:
        self._safely(self._given, given, sys._getframe(1))

    def _returns(self, _module: Any, _given: Any, made: Any) -> None:
        self._safely(self._made, made, sys._getframe(1))

    def _safely(self, look: Callable[[Place, Any], None], value: Any, frame: FrameType) -> None:
        if torch.compiler.is_compiling():
            return
        # The module's call is the user's own: nothing of ours may fail in it.
        with contextlib.suppress(Exception), torch._C.DisableTorchFunction():
            place = self._called_from(frame)
            if place is not None:
                look(place, value)

    def _given(self, place: Place, given: Sequence[Any]) -> None:
        """Look at what a module is called with."""
        # The receiver comes first in `self.fc(h)`, but not in `net[0](h)`.
        words = place.operands[place.attribute != "" :]
        if not any("*" in word for word in words):
            for word, value in zip(words, given, strict=False):
                self.keep(word, value)

    def _made(self, place: Place, made: Any) -> None:
        """Look at what a module returns."""
        parts = made if place.unpacked and isinstance(made, tuple | list) else [made]
        self._bound(place, parts)

    def _called_from(self, frame: FrameType | None) -> Place | None:
        """Return the place of the user's that called the module whose hook runs."""
        while frame is not None and frame.f_code is not _CALL:
            if frame.f_code.co_filename != _CALL.co_filename:
                return None
            frame = frame.f_back
        frame = None if frame is None else frame.f_back
        if frame is None or self._sites.whose(frame.f_code) != USER:
            return None
        return self._sites.place(self._sites.number(frame.f_code, frame.f_lasti))


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

"""Recording what optimizers do: the steps they take and the gradients they clear."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.optim import optimizer as optimizers

from leafmagic.events import Cleared, Stepped
from leafmagic.ledger import REFS, Ledger
from leafmagic.log import EventLog

_is_compiling: Callable[[], bool] = torch.compiler.is_compiling


class UpdateRecorder:
    """Turns ``step()`` and ``zero_grad()`` into events, one a call.

    An optimizer's own arithmetic is not recorded: a step is known by torch's hooks for
    all optimizers, with the parameters that had a gradient. In between the recorder is
    paused, where nothing but torch's own code runs.

    Parameters
    ----------
    ledger : Ledger
    log : EventLog
    arrive : callable
        From a frame to the site of the user's line above it.
    failed : callable
        Called with an error of our own.
    pause, resume : callable
        Stop recording, where that can be done and undone, and tell whether; go on.
    """

    def __init__(
        self,
        ledger: Ledger,
        log: EventLog,
        arrive: Callable[[FrameType | None], tuple[int, bool]],
        failed: Callable[[BaseException], None],
        pause: Callable[[], bool],
        resume: Callable[[], None],
    ) -> None:
        self.ledger = ledger
        self.log = log
        self._arrive = arrive
        self._failed = failed
        self._pause, self._resume = pause, resume
        self._handles: list[Any] = []
        self._thread = 0
        self._paused = False
        self._proven: set[int] = set()
        self.lost = False
        """Whether a step raised while the recorder was paused."""

    def install(self) -> None:
        """Hear of the steps of every optimizer."""
        self.remove()
        self._thread = threading.get_ident()
        self._handles = [
            optimizers.register_optimizer_step_pre_hook(self._begins),
            optimizers.register_optimizer_step_post_hook(self._stepped),
        ]

    def remove(self) -> None:
        """Hear of no more."""
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._proven.clear()
        self.lost = self.lost or self._paused
        self._paused = False

    def _begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if _is_compiling() or self._thread != threading.get_ident():
            return
        if self._paused:
            # The step before raised, or it would have come to its end.
            self.lost = True
            self._go_on()
        try:
            # A closure, a hook and another's optimizer are the user's code, or may be. An
            # optimizer that raises mostly does so at its first step, which is not trusted.
            known = id(optimizer) in self._proven
            if known and len(args) < 2 and not kwargs and _runs_alone(optimizer):
                self._paused = self._pause()
        except Exception as error:
            self._failed(error)

    def _go_on(self) -> None:
        if self._paused:
            self._paused = False
            self._resume()

    def _stepped(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if _is_compiling() or self._thread != threading.get_ident():
            return
        try:
            with torch._C.DisableTorchFunction():
                self._record(optimizer, sys._getframe(1))
            self._proven.add(id(optimizer))
        except Exception as error:
            self._failed(error)
        self._go_on()

    def _record(self, optimizer: Any, frame: FrameType) -> None:
        site, _ = self._arrive(frame)
        moved: list[int] = []
        versions: list[int] = []
        idle: list[int] = []
        for tensor, tid in self._numbered(parameters_of(optimizer)):
            if tensor.grad is None:
                idle.append(tid)
            else:
                moved.append(tid)
                versions.append(tensor._version)
        log = self.log
        event = Stepped(
            log.next_ordinal(),
            site,
            id(optimizer),
            type(optimizer).__name__,
            tuple(moved),
            tuple(versions),
            tuple(idle),
            *self.ledger.take(),
        )
        log.note(event)

    def cleared(self, frame: FrameType) -> None:
        """Record a call of ``zero_grad``, of an optimizer or a module.

        Parameters
        ----------
        frame : FrameType
            That of ``zero_grad``.
        """
        owner = frame.f_locals.get("self")
        site, _ = self._arrive(frame)
        tids = tuple([tid for _, tid in self._numbered(parameters_of(owner))])
        log = self.log
        log.note(Cleared(log.next_ordinal(), site, id(owner), tids, *self.ledger.take()))

    def _numbered(self, tensors: Iterable[Tensor]) -> Iterator[tuple[Tensor, int]]:
        epoch, known, refs = self.ledger.epoch, self.ledger.tensor, REFS
        for tensor in tensors:
            ref = refs.get(id(tensor))
            if ref is not None and ref.epoch == epoch and ref() is tensor:
                yield tensor, ref.tid
            else:
                yield tensor, known(tensor)


def parameters_of(owner: Any) -> list[Tensor]:
    """Return the parameters of an optimizer or a module."""
    groups = getattr(owner, "param_groups", None)
    if groups is not None:
        return [tensor for group in groups for tensor in group["params"]]
    return list(owner.parameters()) if isinstance(owner, torch.nn.Module) else []


def _runs_alone(optimizer: Any) -> bool:
    """Tell whether a step runs torch's own code and our hooks, and nothing else."""
    return (
        type(optimizer).__module__.startswith("torch.optim.")
        and not optimizer._optimizer_step_pre_hooks
        and not optimizer._optimizer_step_post_hooks
        and all(map(_is_ours, optimizers._global_optimizer_pre_hooks.values()))
        and all(map(_is_ours, optimizers._global_optimizer_post_hooks.values()))
    )


def _is_ours(hook: Any) -> bool:
    return isinstance(getattr(hook, "__self__", None), UpdateRecorder)

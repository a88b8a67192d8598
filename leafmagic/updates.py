"""Recording what optimizers do: the steps they take and the gradients they clear."""

from __future__ import annotations

import itertools
import operator
import sys
import threading
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch.optim import optimizer as optimizers

from leafmagic.events import UNKNOWN, Cleared, Stepped
from leafmagic.ledger import Ledger
from leafmagic.log import EventLog

_version = operator.attrgetter("_version")
_is_compiling: Callable[[], bool] = torch.compiler.is_compiling


class _Arguments(tuple[Any, ...]):
    """The arguments of a step, which are gone when it is over, even where it raised."""

    updates: UpdateRecorder

    def __del__(self) -> None:
        self.updates.go_on()


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
        self._versions: dict[int, list[int]] = {}
        # An owner that lives keeps its parameters, and with them their ids.
        self._known: dict[int, tuple[weakref.ref[Any], list[int], tuple[int, ...]]] = {}

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
        self._known.clear()
        self._versions.clear()
        self._paused = False

    def _begins(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        if _is_compiling() or self._thread != threading.get_ident():
            return None
        self.go_on()
        try:
            # A closure, a hook and another's optimizer are the user's code, or may be. An
            # optimizer that raises mostly does so at its first step, which is not trusted.
            known = id(optimizer) in self._proven
            if known and len(args) < 2 and not kwargs and _runs_alone(optimizer):
                self._paused = self._pause()
                if self._paused:
                    guard = _Arguments(args)
                    guard.updates = self
                    return guard, kwargs
        except Exception as error:
            self._failed(error)
        return None

    def go_on(self) -> None:
        """Record again, if a step is over or has raised."""
        if self._paused and self._thread == threading.get_ident():
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
        self.go_on()

    def _record(self, optimizer: Any, frame: FrameType) -> None:
        site, _ = self._arrive(frame)
        parameters = parameters_of(optimizer)
        tids = self._numbers(optimizer, parameters)
        after = list(map(_version, parameters))
        before = self._versions.get(id(optimizer), ())
        self._versions[id(optimizer)] = after
        if len(before) == len(after) and _counts(optimizer):
            # They write in place. To ask each time for the gradients would cost more.
            moves = list(map(operator.ne, before, after))
        else:
            moves = [tensor.grad is not None for tensor in parameters]
        moved, versions = tids, tuple(after)
        idle: tuple[int, ...] = ()
        if not all(moves):
            moved = tuple(itertools.compress(tids, moves))
            versions = tuple(itertools.compress(after, moves))
            idle = tuple(itertools.compress(tids, map(operator.not_, moves)))
        log = self.log
        number, name = id(optimizer), type(optimizer).__name__
        seen = self.ledger.take()
        log.note(Stepped(log.next_ordinal(), site, number, name, moved, versions, idle, *seen))

    def clearing(self, frame: FrameType, last: int) -> int:
        """Record the call in which a library writes to a gradient, unless it is the last one.

        Parameters
        ----------
        frame : FrameType
            Where the writing is done.
        last : int
            What this returned last time; 0 if other things happened since.
        """
        code = frame.f_code
        if code.co_name != "zero_grad":
            if "/torch/optim/" not in code.co_filename.replace("\\", "/"):
                log = self.log
                log.note(Cleared(log.next_ordinal(), 0, UNKNOWN, (), (), ()))
            return 0
        # The frame of the next call may have the same id, and no op need lie in between.
        call = id(frame) ^ id(frame.f_locals.get("self"))
        if call != last:
            try:
                with torch._C.DisableTorchFunction():
                    self.cleared(frame)
            except Exception as error:
                self._failed(error)
        return call

    def cleared(self, frame: FrameType) -> None:
        """Record a call of ``zero_grad``, of an optimizer or a module.

        Parameters
        ----------
        frame : FrameType
            That of ``zero_grad``.
        """
        owner = frame.f_locals.get("self")
        site, _ = self._arrive(frame)
        tids = self._numbers(owner, parameters_of(owner))
        log = self.log
        log.note(Cleared(log.next_ordinal(), site, id(owner), tids, *self.ledger.take()))

    def _numbers(self, owner: Any, parameters: list[Tensor]) -> tuple[int, ...]:
        """Return the numbers of parameters; those of the same owner are looked up once."""
        ids = list(map(id, parameters))
        known = self._known.get(id(owner))
        if known is not None and known[0]() is owner and known[1] == ids:
            return known[2]
        tids = tuple(map(self.ledger.tensor, parameters))
        self._known[id(owner)] = weakref.ref(owner), ids, tids
        return tids


def parameters_of(owner: Any) -> list[Tensor]:
    """Return the parameters of an optimizer or a module."""
    groups = getattr(owner, "param_groups", None)
    if groups is not None:
        return [tensor for group in groups for tensor in group["params"]]
    return list(owner.parameters()) if isinstance(owner, torch.nn.Module) else []


def _runs_alone(optimizer: Any) -> bool:
    """Tell whether a step runs torch's own code and our hooks, and nothing else."""
    return (
        _is_torchs(optimizer)
        and not optimizer._optimizer_step_pre_hooks
        and not optimizer._optimizer_step_post_hooks
        and _are_ours(optimizers._global_optimizer_pre_hooks)
        and _are_ours(optimizers._global_optimizer_post_hooks)
    )


def _are_ours(hooks: dict[int, Any]) -> bool:
    return all(isinstance(getattr(h, "__self__", None), UpdateRecorder) for h in hooks.values())


def _counts(optimizer: Any) -> bool:
    """Tell whether what a step writes to can be told by the version counters."""
    # Fused kernels do not count what they write.
    fused = any(group.get("fused") for group in optimizer.param_groups)
    return _is_torchs(optimizer) and not fused


def _is_torchs(optimizer: Any) -> bool:
    return type(optimizer).__module__.startswith("torch.optim.")

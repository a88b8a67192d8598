"""The mode that records while the user's code runs.

Nothing here interprets. Each call becomes at most one event, and an error of our
own switches the recording off instead of reaching the user's code.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from leafmagic import autograd, functions
from leafmagic.autograd import Ledger, can_be_read, flatten, grad_fn_of, version_of
from leafmagic.events import (
    Accessed,
    BackwardCalled,
    BackwardReturned,
    Event,
    GradModeSet,
    OpCalled,
    Raised,
    WriteAttempted,
)
from leafmagic.functions import BACKWARD, CALL, GRAD_MODE, IGNORE, OP, READ, SINK, WRITE
from leafmagic.sites import Sites

_EMPTY: dict[str, Any] = {}


class Recorder(TorchFunctionMode):
    """Records what user code does with torch into `events`.

    Parameters
    ----------
    sites : Sites
    watch : callable
        Called with the user's frame and its statement before an event at a new
        statement of the cell, so that the names bound since then are known first.
    settled : callable
        Called after a backward pass and after an op that raised.

    Attributes
    ----------
    events : list of Event
        Whoever reads them takes them out.
    seconds : float
        Time spent here, measured on one call in sixteen.
    failure : BaseException or None
        Our own error, if there was one; from then on nothing is recorded.
    """

    def __init__(
        self,
        sites: Sites,
        watch: Callable[[FrameType, int], None],
        settled: Callable[[str, BaseException | None], None],
    ) -> None:
        super().__init__()
        self.sites = sites
        self.ledger = Ledger()
        self.events: list[Event] = []
        self.failure: BaseException | None = None
        self.on_output: Callable[[int, bool, list[Tensor], list[Tensor]], None] | None = None
        self.on_parameters: Callable[[FrameType | None], None] | None = None
        self.seconds = 0.0
        self.calls = 0
        self._ordinal = 0
        self._watch = watch
        self._settled = settled
        self._statement = -1
        self._kinds: dict[Any, tuple[int, str]] = {}

    def next_ordinal(self) -> int:
        """Return the number of the next event."""
        self._ordinal += 1
        return self._ordinal

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run a torch function, and record it."""
        __tracebackhide__ = True
        if kwargs is None:
            kwargs = _EMPTY
        if torch.compiler.is_compiling() or self.failure is not None:
            return func(*args, **kwargs)
        known = self._kinds.get(func)
        if known is None:
            known = self._kinds[func] = functions.classify(func)
        kind = known[0]
        if kind == IGNORE:
            return func(*args, **kwargs)
        if kind == OP:
            return self._op(func, known[1], args, kwargs, sys._getframe(1))
        return self._other(func, kind, known[1], args, kwargs, sys._getframe(1))

    # Ops -------------------------------------------------------------------------

    def _op(self, func: Any, op: str, args: Any, kwargs: Any, frame: FrameType | None) -> Any:
        __tracebackhide__ = True
        started = time.perf_counter() if self.calls & 15 == 0 else 0.0
        self.calls += 1
        place = self._arrive(frame)
        inputs: list[Tensor] = []
        wrote: tuple[int, ...] = ()
        tids: tuple[int, ...] = ()
        versions: list[int] | None = None
        if place is not None:
            try:
                flatten(args, inputs)
                if kwargs:
                    flatten(kwargs.values(), inputs)
                tensor = self.ledger.tensor
                tids = tuple([tensor(t) for t in inputs])
                if type(func) is FunctionType:
                    # Python functions (torch.nn.init, inplace=True) decide for themselves
                    # whether and under which grad mode they write: look afterwards.
                    versions = [version_of(t) for t in inputs]
                elif op[-1] == "_" or op == "setitem" or "out" in kwargs:
                    wrote = self._about_to_write(place, op, args, kwargs, tids)
            except Exception as error:
                self._give_up(error)
                place = None
        paused = time.perf_counter() if started else 0.0
        try:
            result = func(*args, **kwargs)
        except BaseException as error:
            self._raised(place, op, tids, (), error)
            raise
        if place is not None:
            resumed = time.perf_counter() if started else 0.0
            try:
                if versions is not None:
                    wrote = tuple(
                        [
                            tid
                            for tid, t, version in zip(tids, inputs, versions, strict=True)
                            if version_of(t) != version
                        ]
                    )
                self._record(place, op, inputs, tids, result, wrote)
            except Exception as error:
                self._give_up(error)
            if started:
                self.seconds += 16 * (time.perf_counter() - resumed + paused - started)
        return result

    def _arrive(self, frame: FrameType | None) -> tuple[int, bool] | None:
        """Find the user's line; report names bound before it. None after a failure."""
        try:
            site, direct, found = self.sites.find(frame)
            statement = self.sites.statement[site]
            if statement >= 0 and statement != self._statement and found is not None:
                self._statement = statement
                self._watch(found, statement)
        except Exception as error:
            self._give_up(error)
            return None
        return site, direct

    def _record(
        self,
        place: tuple[int, bool],
        op: str,
        inputs: list[Tensor],
        tids: tuple[int, ...],
        result: Any,
        wrote: tuple[int, ...],
    ) -> None:
        ledger = self.ledger
        grad_enabled = True
        if isinstance(result, Tensor):
            outputs: tuple[int, ...] = (ledger.tensor(result),)
            made = [result]
        else:
            made = []
            if isinstance(result, list | tuple):
                flatten(result, made)
            outputs = tuple([ledger.tensor(t) for t in made])
            if not made and not wrote:
                return
        if wrote:
            # An in-place op gives a tensor that is known a new grad_fn.
            for tensor in made:
                node = grad_fn_of(tensor)
                if node is not None:
                    ledger.node(node)
            for tid, tensor in zip(tids, inputs, strict=True):
                if tid in wrote and grad_fn_of(tensor) is not None:
                    ledger.redescribe(tensor, tid)
        if made and not made[0].requires_grad:
            grad_enabled = torch.is_grad_enabled()
        tensors, nodes = ledger.take()
        self.events.append(
            OpCalled(
                self.next_ordinal(),
                place[0],
                op,
                place[1],
                tids,
                outputs,
                tensors,
                nodes,
                grad_enabled,
                wrote,
            )
        )
        if tensors and self.on_parameters is not None and any(t.parameter for t in tensors):
            self.on_parameters(sys._getframe(3))
        if self.on_output is not None:
            self.on_output(place[0], place[1], inputs, made)

    def _about_to_write(
        self,
        place: tuple[int, bool],
        op: str,
        args: Any,
        kwargs: Any,
        tids: tuple[int, ...],
    ) -> tuple[int, ...]:
        targets: list[Tensor] = []
        if "out" in kwargs:
            flatten((kwargs["out"],), targets)
        elif functions.writes_in_place(op):
            flatten(args[:1] or tuple(kwargs.values())[:1], targets)
        if not targets:
            return ()
        wrote = tuple([self.ledger.tensor(t) for t in targets])
        if torch.is_grad_enabled():
            self.events.append(
                WriteAttempted(
                    self.next_ordinal(), place[0], op, place[1], wrote, tids, *self.ledger.take()
                )
            )
        return wrote

    # Everything else -------------------------------------------------------------

    def _other(
        self, func: Any, kind: int, name: str, args: Any, kwargs: Any, frame: FrameType | None
    ) -> Any:
        __tracebackhide__ = True
        if kind == BACKWARD:
            return self._backward(func, name, args, kwargs, frame)
        if kind == GRAD_MODE:
            result = func(*args, **kwargs)
            place = self._arrive(frame)
            if place is not None:
                self.events.append(GradModeSet(self.next_ordinal(), place[0], bool(args[0])))
            return result
        if kind == READ and frame is not None and not self.sites.is_user(frame.f_code):
            return func(*args, **kwargs)
        place = self._arrive(frame)
        if place is None or not args or not isinstance(args[0], Tensor):
            return func(*args, **kwargs)
        if kind == SINK:
            return self._sink(func, name, args, kwargs, place)
        return self._access(func, kind, name, args, kwargs, place)

    def _sink(self, func: Any, name: str, args: Any, kwargs: Any, place: tuple[int, bool]) -> Any:
        __tracebackhide__ = True
        result = func(*args, **kwargs)
        try:
            tid = self.ledger.tensor(args[0])
            op = functions.plain_name(name)
            self.events.append(
                OpCalled(
                    self.next_ordinal(),
                    place[0],
                    op,
                    place[1],
                    (tid,),
                    (),
                    *self.ledger.take(),
                    True,
                    (),
                )
            )
        except Exception as error:
            self._give_up(error)
        return result

    def _access(
        self, func: Any, kind: int, name: str, args: Any, kwargs: Any, place: tuple[int, bool]
    ) -> Any:
        __tracebackhide__ = True
        tensor: Tensor = args[0]
        flags = (False, False, False)
        mine = False
        try:
            leaf = tensor.is_leaf
            flags = (leaf, tensor.requires_grad, not leaf and tensor.retains_grad)
            mine = kind != READ or self._is_own_read(place, name)
        except Exception as error:
            self._give_up(error)
        try:
            if name == "grad" and mine and not can_be_read(tensor):
                result = _without_nonleaf_warning(func, args)
            else:
                result = func(*args, **kwargs)
        except BaseException as error:
            self._raised(place, name, (autograd.tid_of(tensor),), (), error)
            raise
        try:
            value: Any = args[1] if kind == WRITE and len(args) > 1 else result
            if name == "requires_grad_":
                value = bool((list(args[1:]) + list(kwargs.values()) or [True])[0])
            elif isinstance(value, Tensor):
                value = self.ledger.tensor(value)
            elif not isinstance(value, bool):
                value = -1
            tid = self.ledger.tensor(tensor)
            self.events.append(
                Accessed(
                    self.next_ordinal(),
                    place[0],
                    name,
                    tid,
                    mine,
                    value,
                    *flags,
                    torch.is_grad_enabled(),
                    *self.ledger.take(),
                )
            )
        except Exception as error:
            self._give_up(error)
        return result

    def _is_own_read(self, place: tuple[int, bool], name: str) -> bool:
        """Tell a read that the cell spells out from one by getattr or an inspector."""
        found = self.sites.place(place[0])
        return found is None or (found.kind == "Attribute" and found.attribute == name)

    def _backward(
        self, func: Any, name: str, args: Any, kwargs: Any, frame: FrameType | None
    ) -> Any:
        __tracebackhide__ = True
        place = self._arrive(frame)
        roots: list[Tensor] = []
        began = -1
        if place is not None:
            try:
                roots = flatten(args[:1], [])
                inputs = flatten([*args[1:2], kwargs.get("inputs")], []) if kwargs else []
                began = self._began(place, name, roots, inputs, kwargs)
            except Exception as error:
                self._give_up(error)
        try:
            result = func(*args, **kwargs)
        except BaseException as error:
            self._ended(place, began, True)
            self._raised(place, name, tuple(map(autograd.tid_of, roots)), roots, error)
            raise
        self._ended(place, began, False)
        self._call_settled(name, None)
        return result

    def _began(
        self,
        place: tuple[int, bool],
        name: str,
        roots: list[Tensor],
        inputs: list[Tensor],
        kwargs: Any,
    ) -> int:
        ordinal = self.next_ordinal()
        tids = tuple([self.ledger.tensor(root) for root in roots])
        asked = tuple([self.ledger.tensor(t) for t in inputs]) if name == "grad" else ()
        for root in roots:
            if root.grad_fn is not None:
                self.ledger.node(root.grad_fn)
        create = bool(kwargs.get("create_graph", False))
        retain = kwargs.get("retain_graph")
        self.events.append(
            BackwardCalled(
                ordinal,
                place[0],
                name,
                tids,
                asked,
                create if retain is None else bool(retain),
                create,
                *self.ledger.take(),
            )
        )
        return ordinal

    def _ended(self, place: tuple[int, bool] | None, began: int, failed: bool) -> None:
        if place is not None:
            self.events.append(BackwardReturned(self.next_ordinal(), place[0], began, failed))

    def _raised(
        self,
        place: tuple[int, bool] | None,
        op: str,
        inputs: tuple[int, ...],
        roots: Any,
        error: BaseException,
    ) -> None:
        if place is None or not isinstance(error, Exception):
            return
        try:
            text = str(error)
            culprits: tuple[tuple[int, str, str], ...] = ()
            if "modified by an inplace operation" in text:
                culprits = tuple(autograd.corrupted_saves(roots))
            self.events.append(
                Raised(
                    self.next_ordinal(),
                    place[0],
                    op,
                    type(error).__name__,
                    text.partition("\n")[0],
                    inputs,
                    culprits,
                    place[1],
                )
            )
        except Exception as ours:
            self._give_up(ours)
        self._call_settled(op, error)

    def _call_settled(self, op: str, error: BaseException | None) -> None:
        try:
            self._settled(op, error)
        except Exception as ours:
            self._give_up(ours)

    def _give_up(self, error: BaseException) -> None:
        self.failure = error.with_traceback(None)
        self.ledger.take()


def _without_nonleaf_warning(func: Any, args: Any) -> Any:
    """Read ``.grad`` where torch would warn and we do.

    Filters are left alone, since changing them would let other warnings show twice;
    a filter that turns warnings into errors still does.
    """
    __tracebackhide__ = True
    shown = warnings.showwarning

    def show(message: Any, category: Any, *rest: Any, **named: Any) -> None:
        if "that is not a leaf Tensor is being accessed" not in str(message):
            shown(message, category, *rest, **named)

    warnings.showwarning = show
    try:
        return func(*args)
    finally:
        warnings.showwarning = shown


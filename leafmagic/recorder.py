"""The mode that records while the user's code runs.

Nothing here interprets. Each call becomes at most one event, and an error of our
own switches the recording off instead of reaching the user's code.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

import torch
from torch import Tensor, overrides
from torch.overrides import TorchFunctionMode

from leafmagic import autograd, functions, modestack
from leafmagic.accesses import AccessRecorder, run_access
from leafmagic.autograd import KNOWN_TYPES
from leafmagic.callers import NAME, Caller, caller_at, run_plainly, step_aside
from leafmagic.functions import BACKWARD, GRAD_MODE, IGNORE, OP, READ, SINK, WRITE, WriteCheck
from leafmagic.ledger import Ledger, tid_of
from leafmagic.log import EventLog
from leafmagic.looks import Raised
from leafmagic.ops import OpRecorder
from leafmagic.passes import PassRecorder
from leafmagic.sites import LIBRARY, NOWHERE, OPTIMIZER, USER, Sites
from leafmagic.updates import UpdateRecorder

_is_compiling: Callable[[], bool] = torch.compiler.is_compiling
_HANDLE = overrides.handle_torch_function.__code__
_MODULE_CLEARS = torch.nn.Module.zero_grad.__code__
_TIMED = 64
"""So many calls are timed each, later ones one in 64: the first ones differ much."""
_EMPTY: dict[str, Any] = {}
Kind = tuple[int, str, WriteCheck]
"""What to do about a function, what it is called, and what tells whether it writes."""
Spot = tuple[Caller, int, int, int]
"""How to call from a place, whose code it is, its site and its statement."""


class Recorder(TorchFunctionMode):
    """Records what user code does with torch into a log.

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
    log : EventLog
        What was recorded.
    seconds : float
        Time spent here.
    off : bool
        Whether nothing is recorded any more.
    failure : str or None
        Our own error, if there was one.
    """

    def __init__(
        self,
        sites: Sites,
        watch: Callable[[FrameType, int], None],
        settled: Callable[[BaseException | None], None],
    ) -> None:
        super().__init__()
        self.sites = sites
        self.ledger = Ledger()
        self.log = EventLog()
        self.ops = OpRecorder(self.ledger, self.log)
        self.passes = PassRecorder(self.ledger, self.log)
        self.accesses = AccessRecorder(self.ledger, self.log, sites)
        self.memory = self.ops.memory = self.accesses.memory = self.passes.memory
        self.updates = UpdateRecorder(
            self.ledger, self.log, self._arrive, self._give_up, self._pause, self._resume
        )
        self.on_refused_copy: Callable[[], None] | None = None
        self.off = False
        self.failure: str | None = None
        self.home: Any = None
        self.seconds = 0.0
        self._calls = 0
        self._watch = watch
        self._settled = settled
        self._statement = self._site = -1
        self._kinds: dict[Any, Kind] = {}
        self._spots: dict[tuple[int, int], Spot] = {}
        self._statements = sites.statement
        self._record = self.ops.record
        self._clears = self._below = 0
        self._heard = False
        """Whether other modes lie below, which would hear what is done here."""

    def install(self, home: dict[str, Any] | None = None) -> None:
        """Put this mode on torch's stack, for code whose variables live in a namespace."""
        self.off, self.home = False, home
        self._heard = modestack.depth() > 0
        self.updates.install()
        modestack.push(self)

    def remove(self) -> None:
        """Take this mode off torch's stack, wherever it lies; others stay in their order."""
        # They hold the globals of the code that called.
        self._spots.clear()
        self.home = None
        self.updates.remove()
        self._safely(self.passes.look_ahead)
        # In case it lies on no stack just now: torch takes a mode off while its handler
        # runs and puts it back afterwards.
        self.off = True
        modestack.remove(self)

    def _pause(self) -> bool:
        """Take this mode off torch's stack, if it lies on top; tell whether it did."""
        below = modestack.take_off(self)
        self._below = below or 0
        return below is not None

    def _resume(self) -> None:
        """Put this mode back where it lay, under what was put there since."""
        modestack.insert(self, self._below)

    def __torch_function__(  # noqa: C901, PLR0912 - the hot path: calls cost too much
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run a torch function, and record it."""
        __tracebackhide__ = True
        kwargs = kwargs or _EMPTY
        try:
            if _is_compiling() or self.off:
                return func(*args, **kwargs)
            kind, op, care = self._kinds.get(func) or self._classify(func)
            if kind == IGNORE:
                return func(*args, **kwargs)
            frame = sys._getframe(1)
            if frame.f_code is _HANDLE:
                frame = _origin(frame)
            key = (id(frame.f_code), frame.f_lasti)
            call, whose, site, statement = self._spots.get(key) or self._meet(frame, key)
            if whose != USER and (
                kind in (READ, WRITE) or whose == OPTIMIZER or frame.f_code is _MODULE_CLEARS
            ):
                # A library does so all the time. Of an optimizer's work only the whole matters.
                if kind == WRITE or care is not None:
                    self._clearing(frame)
                return call(func, args, kwargs)
            self._clears = 0
            if kind != OP:
                return self._other(func, kind, op, args, kwargs, frame, call)
            self._calls = calls = self._calls + 1
            foreign = types and not KNOWN_TYPES.issuperset(types)
            if foreign or calls < _TIMED or not calls & 63 or self._heard:
                return self._op_slowly(func, op, care, args, kwargs, frame, call)
            try:
                direct = True
                if whose != USER:
                    site, direct = self._arrive(frame)
                elif statement >= 0 and (statement != self._statement or site == self._site):
                    # A new statement, or the same again: names may be new.
                    self._statement = statement
                    self._watch(frame, statement)
                self._site = site
                tids = self.ledger.numbers(args, kwargs)
                before = None
                if (kwargs and "out" in kwargs) or (care is not None and care(args, kwargs)):
                    before = self.ops.before(func, op, site, direct, args, kwargs, tids)
            except Exception as error:
                self._give_up(error)
                return func(*args, **kwargs)
            try:
                result = call(func, args, kwargs)
            except BaseException as error:
                self._raised((site, direct), op, tids, (), error)
                raise
            try:
                self._record(site, direct, op, args, kwargs, tids, result, before)
            except Exception as error:
                self._give_up(error)
            return result
        except BaseException as error:
            step_aside(error)
            raise

    def _meet(self, frame: FrameType, key: tuple[int, int]) -> Spot:
        """Look at a place for the first time: how to call from there, and whose it is."""
        try:
            whose, site = self.sites.whose(frame.f_code), NOWHERE
            if whose == USER:
                site = self.sites.number(frame.f_code, frame.f_lasti)
            elif frame.f_code.co_name == NAME:
                # From the recorder of a trace inside this one: one such frame for each place.
                site, direct, _ = self.sites.find(frame)
                whose = USER if direct else whose
            spot = caller_at(frame), whose, site, self._statements[site]
            if not self._is_lasting(frame.f_globals):
                return spot
        except Exception as error:
            self._give_up(error)
            return run_plainly, LIBRARY, NOWHERE, -1
        self._spots[key] = spot
        return spot

    def _is_lasting(self, namespace: dict[str, Any]) -> bool:
        """Tell whether a namespace lives anyway; what `exec` was given may be dropped."""
        module = sys.modules.get(namespace.get("__name__", ""))
        return namespace is self.home or getattr(module, "__dict__", None) is namespace

    def _clearing(self, frame: FrameType) -> None:
        """Note the first gradient that a call of ``zero_grad`` clears; it stands for all."""
        self._clears = self.updates.clearing(frame, self._clears)

    def _classify(self, func: Any) -> Kind:
        """Return what to do about a function, its name, and what tells whether it writes."""
        try:
            kind, op = functions.classify(func)
        except Exception as error:
            self._give_up(error)
            return IGNORE, "", None
        known = kind, op, functions.write_check(func, op)
        if type(func) is not FunctionType or (func.__module__ or "").startswith("torch"):
            # A function of the user's may hold tensors, and must not be held.
            self._kinds[func] = known
        return known

    def _op_slowly(
        self, func: Any, op: str, care: WriteCheck, args: Any, kwargs: Any, frame: Any, call: Caller
    ) -> Any:
        """Run and record an op, timed, and unheard by subclasses and other modes."""
        __tracebackhide__ = True
        started = time.perf_counter()
        try:
            with torch._C.DisableTorchFunction():
                site, direct = self._arrive(frame)
                self._site = site
                tids = self.ledger.numbers(args, kwargs)
                before = None
                if "out" in kwargs or (care is not None and care(args, kwargs)):
                    before = self.ops.before(func, op, site, direct, args, kwargs, tids)
        except Exception as error:
            self._give_up(error)
            return call(func, args, kwargs)
        paused = time.perf_counter()
        try:
            result = call(func, args, kwargs)
        except BaseException as error:
            self._raised((site, direct), op, tids, (), error)
            raise
        resumed = time.perf_counter()
        self._safely(self._record, site, direct, op, args, kwargs, tids, result, before)
        spent = time.perf_counter() - resumed + paused - started
        self.seconds += spent if self._calls < _TIMED else 64 * spent
        return result

    def _arrive(self, frame: FrameType | None) -> tuple[int, bool]:
        """Find the user's line; report the names that were bound before it."""
        site, direct, found = self.sites.find(frame)
        statement = self._statements[site]
        if statement >= 0 and found is not None:
            self._statement = statement
            self._watch(found, statement)
        return site, direct

    def _other(
        self,
        func: Any,
        kind: int,
        name: str,
        args: Any,
        kwargs: Any,
        frame: Any,
        call: Caller,
    ) -> Any:
        """Run what is no op."""
        __tracebackhide__ = True
        if kind == GRAD_MODE:
            return call(func, args, kwargs)
        try:
            place = self._arrive(frame)
        except Exception as error:
            self._give_up(error)
            return func(*args, **kwargs)
        if kind == BACKWARD:
            return self._backward(func, name, args, kwargs, place, call)
        if not args or not isinstance(args[0], Tensor):
            return call(func, args, kwargs)
        if kind == SINK:
            return self._sink(func, name, args, kwargs, place, call)
        return self._access(func, kind, name, args, kwargs, place, call)

    def _sink(
        self, func: Any, name: str, args: Any, kwargs: Any, place: tuple[int, bool], call: Caller
    ) -> Any:
        __tracebackhide__ = True
        result = call(func, args, kwargs)
        self._safely(self.ops.sink, *place, name, args[0])
        return result

    def _access(
        self,
        func: Any,
        kind: int,
        name: str,
        args: Any,
        kwargs: Any,
        place: tuple[int, bool],
        call: Caller,
    ) -> Any:
        __tracebackhide__ = True
        try:
            with torch._C.DisableTorchFunction():
                seen = self.accesses.look(args[0], kind, name, place[0])
        except Exception as error:
            self._give_up(error)
            return func(*args, **kwargs)
        try:
            (leaf, _, retains), mine = seen
            mine = mine and self.accesses.telling
            unfilled = name == "grad" and mine and not (leaf or retains)
            result = run_access(call, func, args, kwargs, unfilled=unfilled)
        except BaseException as error:
            self._raised(place, name, (tid_of(args[0]),), (), error)
            raise
        self._safely(self.accesses.record, place[0], kind, name, args, kwargs, result, seen)
        return result

    def _backward(
        self, func: Any, name: str, args: Any, kwargs: Any, place: tuple[int, bool], call: Caller
    ) -> Any:
        __tracebackhide__ = True
        roots: list[Tensor] | None = None
        try:
            with torch._C.DisableTorchFunction():
                roots = self.passes.begin(place[0], name, args, kwargs)
        except Exception as error:
            self._give_up(error)
        if roots is None:
            return call(func, args, kwargs)
        try:
            result = call(func, args, kwargs)
        except BaseException as error:
            self._safely(self.passes.end, failed=True)
            self._safely(self.ops.place_asked, args, kwargs)
            self._raised(place, name, tuple(map(tid_of, roots)), roots, error)
            raise
        self.ops.step += 1
        self.ledger.end_step()
        self._safely(self.passes.end, failed=False, result=result)
        self._safely(self._settled, None)
        return result

    def _raised(
        self, place: tuple[int, bool], op: str, inputs: tuple[int, ...], roots: Any, error: Any
    ) -> None:
        if isinstance(error, Exception):
            self._safely(self._note_raised, place, op, inputs, roots, error)
            self._safely(self._settled, error)

    def _note_raised(
        self, place: tuple[int, bool], op: str, inputs: tuple[int, ...], roots: Any, error: Any
    ) -> None:
        text = str(error)
        culprits: tuple[tuple[int, str, str], ...] = ()
        if "modified by an inplace operation" in text:
            culprits = tuple(autograd.corrupted_saves(self.ledger.number_of, roots))
        if op == "deepcopy" and self.on_refused_copy is not None:
            self.on_refused_copy()
        node = None if roots is None else autograd.raised_in(error)
        blamed = 0 if node is None else self.ledger.number_of(node)
        said = type(error).__name__, text.partition("\n")[0], inputs, culprits, place[1]
        self.log.emit(Raised(self.log.next_ordinal(), place[0], op, *said, None, blamed))

    def _safely(self, call: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        """Do something of ours, unheard by subclasses and other modes."""
        try:
            with torch._C.DisableTorchFunction():
                call(*args, **kwargs)
        except Exception as ours:
            self._give_up(ours)

    def _give_up(self, error: BaseException) -> None:
        self.off = True
        # Only in words: the error would hold frames, and with them tensors.
        self.failure = f"{type(error).__name__}: {error}"


def _origin(frame: FrameType) -> FrameType:
    """Return the frame that called a torch function, past torch's own detour."""
    if frame.f_code is not _HANDLE:
        return frame
    function = frame.f_back
    caller = None if function is None else function.f_back
    return frame if caller is None else caller

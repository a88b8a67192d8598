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
from leafmagic.autograd import REFS, Ledger, can_be_read, flatten, grad_fn_of, version_of
from leafmagic.events import (
    Accessed,
    BackwardCalled,
    BackwardReturned,
    OpCalled,
    PassRepeated,
    Raised,
    WriteAttempted,
    Written,
)
from leafmagic.functions import BACKWARD, GRAD_MODE, IGNORE, OP, READ, SINK, WRITE
from leafmagic.log import EventLog, Repeat
from leafmagic.sites import OPTIMIZER, USER, Sites

_EMPTY: dict[str, Any] = {}
_PLAIN = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device})
_tuple = tuple.__new__


class Turns:
    """How often an op ran at a place in the current step, and how it turned out before.

    Attributes
    ----------
    plain : list of Repeat or None
        Per turn what to compare with, if the output was one new tensor; else None.
    """

    __slots__ = ("plain", "step", "turn")

    def __init__(self) -> None:
        self.step = -1
        self.turn = 0
        self.plain: list[Repeat | None] = []


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
        self.log = EventLog()
        self.failure: BaseException | None = None
        self.on_output: Callable[[int, bool, list[Tensor], list[Tensor]], None] | None = None
        self.on_parameters: Callable[[FrameType | None], None] | None = None
        self.seconds = 0.0
        self.calls = 0
        self.step = 0
        self._sunk: set[tuple[int, str]] = set()
        self._passes: set[int] = set()
        self._turns: list[dict[str, Turns]] = []
        self._watch = watch
        self._settled = settled
        self._statement = -1
        self._kinds: dict[Any, tuple[int, str, bool]] = {}
        self._numbers, self._statements = sites.numbers, sites.statement
        self._codes = sites.codes
        self._burst = self._burst_site = 0

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run a torch function, and record it."""
        # The hot path: what is spelt out here rather than called is so for speed.
        __tracebackhide__ = True
        if kwargs is None:
            kwargs = _EMPTY
        if torch.compiler.is_compiling() or self.failure is not None:
            return func(*args, **kwargs)
        known = self._kinds.get(func)
        if known is None:
            known = self._kinds[func] = _kind_of(func)
        kind, op, care = known
        if kind == IGNORE:
            return func(*args, **kwargs)
        frame = sys._getframe(1)
        code = frame.f_code
        known_code = self._codes.get(id(code))
        whose = known_code[1] if known_code is not None else self.sites.whose(code)
        if kind != OP:
            if kind == READ and whose != USER:
                # Libraries look at .grad all the time: that is nobody's mistake.
                return func(*args, **kwargs)
            return self._other(func, kind, op, args, kwargs, frame)
        if whose == OPTIMIZER:
            return self._update(func, op, care, args, kwargs, frame)
        self._burst = 0
        self.calls += 1
        started = 0.0 if self.calls & 15 else time.perf_counter()
        try:
            site = self._numbers.get((id(code), frame.f_lasti))
            if site is None:
                site, direct = self._arrive(frame)
            else:
                direct = True
                if self._statements[site] not in (-1, self._statement):
                    self._arrive(frame)
            tids = self._number(args, kwargs)
            before = None
            if care or (kwargs and "out" in kwargs):
                before = self._before(func, op, (site, direct), args, kwargs, tids)
        except Exception as error:
            self._give_up(error)
            return func(*args, **kwargs)
        paused = time.perf_counter() if started else 0.0
        try:
            result = func(*args, **kwargs)
        except BaseException as error:
            self._raised((site, direct), op, tids, (), error)
            raise
        resumed = time.perf_counter() if started else 0.0
        try:
            self._record(site, direct, op, args, kwargs, tids, result, before)
        except Exception as error:
            self._give_up(error)
        if started:
            self.seconds += 16 * (time.perf_counter() - resumed + paused - started)
        return result

    def _update(
        self, func: Any, op: str, care: bool, args: Any, kwargs: Any, frame: FrameType
    ) -> Any:
        """Run an op of an optimizer; of all its arithmetic only the writes matter."""
        __tracebackhide__ = True
        result = func(*args, **kwargs)
        if not care or not args:
            return result
        try:
            for tensor in flatten(args[:1], []):
                ref = REFS.get(id(tensor))
                if ref is None or ref.epoch != self.ledger.epoch:
                    continue
                # One call of step() makes many: its line is looked up once.
                if self._burst != id(frame):
                    self._burst_site, _ = self._arrive(frame)
                    self._burst = id(frame)
                site = self._burst_site
                event = Written(self.log.next_ordinal(), site, op, ref.tid)
                self.log.replace((Written, site, op, ref.tid), event)
        except Exception as error:
            self._give_up(error)
        return result

    def _number(self, args: Any, kwargs: Any) -> tuple[int, ...]:
        """Return the numbers of the tensors among the arguments."""
        epoch, refs = self.ledger.epoch, REFS
        numbers: list[int] = []
        for arg in args:
            kind = type(arg)
            if kind in _PLAIN:
                continue
            if kind is Tensor or isinstance(arg, Tensor):
                ref = refs.get(id(arg))
                if ref is not None and ref.epoch == epoch and ref() is arg:
                    numbers.append(ref.tid)
                else:
                    numbers.append(self.ledger.tensor(arg))
            elif isinstance(arg, list | tuple):
                numbers += map(self.ledger.tensor, flatten((arg,), []))
        if kwargs:
            numbers += map(self.ledger.tensor, flatten(kwargs.values(), []))
        return tuple(numbers)

    def _before(
        self, func: Any, op: str, place: Any, args: Any, kwargs: Any, tids: tuple[int, ...]
    ) -> tuple[int, ...] | list[int]:
        """Return what an op is about to write, or the versions by which to tell later."""
        if type(func) is FunctionType:
            # Python functions (torch.nn.init, inplace=True) decide for themselves
            # whether and under which grad mode they write: look afterwards.
            return list(map(version_of, flatten((*args, *kwargs.values()), [])))
        return self._about_to_write(place, op, args, kwargs, tids)

    def _arrive(self, frame: FrameType | None) -> tuple[int, bool]:
        """Find the user's line; report the names that were bound before it."""
        site, direct, found = self.sites.find(frame)
        statement = self._statements[site]
        if statement >= 0 and statement != self._statement and found is not None:
            self._statement = statement
            self._watch(found, statement)
        return site, direct

    def _arrive_safely(self, frame: FrameType | None) -> tuple[int, bool] | None:
        """Like `_arrive`; None after a failure."""
        try:
            return self._arrive(frame)
        except Exception as error:
            self._give_up(error)
            return None

    def _record(
        self,
        site: int,
        direct: bool,
        op: str,
        args: Any,
        kwargs: Any,
        tids: tuple[int, ...],
        result: Any,
        before: tuple[int, ...] | list[int] | None,
    ) -> None:
        wrote: tuple[int, ...] | None = None
        if before is not None:
            if isinstance(before, list):
                wrote = _written(tids, flatten((*args, *kwargs.values()), []), before)
            else:
                wrote = before
        while site >= len(self._turns):
            self._turns.append({})
        known = self._turns[site].get(op)
        if known is None:
            known = self._turns[site][op] = Turns()
        if known.step != self.step:
            known.step, known.turn = self.step, 0
        turn = known.turn
        if wrote is None and turn < len(known.plain) and isinstance(result, Tensor):
            plain = known.plain[turn]
            numbers = None if plain is None else self.ledger.repeated(result, plain)
            if numbers is not None:
                known.turn = turn + 1
                log = self.log
                log.ordinal += 1
                log.repeat(
                    plain, (log.ordinal, site, op, direct, tids, turn, *numbers, result.shape)
                )
                if self.on_output is not None:
                    self.on_output(site, direct, flatten(args, []), [result])
                return
        elif wrote and len(wrote) == 1 and isinstance(result, Tensor) and result.grad_fn is None:
            if not self.ledger.new_tensors and not torch.is_grad_enabled():
                written = Written(self.log.next_ordinal(), site, op, wrote[0])
                self.log.replace((Written, site, op, wrote[0]), written)
                return
        inputs = flatten((*args, *kwargs.values()), [])
        made = self._record_fully((site, direct), op, inputs, tids, result, wrote or (), turn)
        if made is not None:
            while turn >= len(known.plain):
                known.plain.append(None)
            known.plain[turn] = made[0]
            known.turn = turn + 1

    def _record_fully(
        self,
        place: tuple[int, bool],
        op: str,
        inputs: list[Tensor],
        tids: tuple[int, ...],
        result: Any,
        wrote: tuple[int, ...],
        turn: int,
    ) -> tuple[Repeat | None] | None:
        """Record an op with all that it made.

        Returns
        -------
        tuple of (Repeat or None) or None
            What to compare with in the next step, so that a short record will do;
            (None,) if it is not of that kind; None if nothing was recorded.
        """
        ledger = self.ledger
        grad_enabled = True
        made: list[Tensor] = []
        if isinstance(result, Tensor):
            made.append(result)
        elif isinstance(result, list | tuple):
            flatten(result, made)
        outputs = tuple([ledger.tensor(t) for t in made])
        if not made and not wrote:
            return None
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
        self.log.emit(
            OpCalled(
                self.log.next_ordinal(),
                place[0], op, place[1],
                tids,
                outputs,
                tensors,
                nodes,
                grad_enabled,
                wrote,
                turn,
            )
        )
        if tensors and self.on_parameters is not None and any(t.parameter for t in tensors):
            self.on_parameters(sys._getframe(4))
        if self.on_output is not None:
            self.on_output(place[0], place[1], inputs, made)
        one = not wrote and len(tensors) == 1 and isinstance(result, Tensor)
        if not one or tensors[0].tid != outputs[0]:
            return (None,)
        nid = tensors[0].nid
        if nid < 0:
            return (Repeat("", outputs[0]),)
        name = next((node.name for node in nodes if node.nid == nid), "")
        return (Repeat(name, outputs[0]) if name else None,)

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
        wrote = tuple([self.ledger.tensor(t) for t in targets])
        if wrote and torch.is_grad_enabled():
            self.log.emit(
                WriteAttempted(
                    self.log.next_ordinal(), place[0], op, place[1], wrote, tids, *self.ledger.take()
                )
            )
        return wrote

    # Everything else -------------------------------------------------------------

    def _other(
        self, func: Any, kind: int, name: str, args: Any, kwargs: Any, frame: FrameType | None
    ) -> Any:
        __tracebackhide__ = True
        self._burst = 0
        if kind == GRAD_MODE:
            return func(*args, **kwargs)
        if kind == BACKWARD:
            return self._backward(func, name, args, kwargs, frame)
        place = self._arrive_safely(frame)
        if place is None or not args or not isinstance(args[0], Tensor):
            return func(*args, **kwargs)
        if kind == SINK:
            return self._sink(func, name, args, kwargs, place)
        return self._access(func, kind, name, args, kwargs, place)

    def _sink(self, func: Any, name: str, args: Any, kwargs: Any, place: tuple[int, bool]) -> Any:
        __tracebackhide__ = True
        result = func(*args, **kwargs)
        if (place[0], name) in self._sunk:
            return result
        try:
            self._sunk.add((place[0], name))
            tid = self.ledger.tensor(args[0])
            op = functions.plain_name(name)
            self.log.emit(
                OpCalled(
                    self.log.next_ordinal(),
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
            event = Accessed(
                self.log.next_ordinal(),
                place[0],
                name,
                self.ledger.tensor(tensor),
                mine,
                value,
                *flags,
                torch.is_grad_enabled(),
                *self.ledger.take(),
            )
            if name == "set_grad" and value == -1 and not event.tensors:
                self.log.replace((Accessed, place[0], event.tid), event)
            else:
                self.log.emit(event)
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
        place = self._arrive_safely(frame)
        roots: list[Tensor] = []
        called: BackwardCalled | None = None
        again = False
        if place is not None:
            try:
                roots = flatten(args[:1], [])
                called = self._called(place, name, roots, args, kwargs)
                again = self._is_again(called, roots)
                if not again:
                    self.log.emit(called)
            except Exception as error:
                self._give_up(error)
        try:
            result = func(*args, **kwargs)
        except BaseException as error:
            if called is not None:
                if again:
                    self.log.emit(called)
                self._returned(called, True)
            self._raised(place, name, tuple(map(autograd.tid_of, roots)), roots, error)
            raise
        if called is not None:
            self.step += 1
            if again:
                end = self.log.next_ordinal()
                repeated = PassRepeated(
                    end, called.site, called.ordinal, name, called.roots, *called[5:7], 1
                )
                self.log.replace((PassRepeated, called.site), repeated)
            else:
                self._returned(called, False)
        self._call_settled(name, None)
        return result

    def _called(
        self, place: tuple[int, bool], name: str, roots: list[Tensor], args: Any, kwargs: Any
    ) -> BackwardCalled:
        ledger = self.ledger
        tids = tuple([ledger.tensor(root) for root in roots])
        asked: tuple[int, ...] = ()
        if name == "grad":
            inputs = flatten([*args[1:2], kwargs.get("inputs")], [])
            asked = tuple([ledger.tensor(t) for t in inputs])
        for root in roots:
            if root.grad_fn is not None:
                ledger.node(root.grad_fn)
        create = bool(kwargs.get("create_graph", False))
        retain = kwargs.get("retain_graph")
        return BackwardCalled(
            self.log.next_ordinal(),
            place[0],
            name,
            tids,
            asked,
            create if retain is None else bool(retain),
            create,
            *ledger.take(),
        )

    def _is_again(self, called: BackwardCalled, roots: list[Tensor]) -> bool:
        """Tell whether a backward pass is the one of the step before, once more."""
        if called.site not in self._passes:
            self._passes.add(called.site)
            return False
        if called.tensors or called.nodes or called.inputs:
            return False
        refs = [REFS.get(id(root)) for root in roots]
        return all(ref is not None and ref.repeat is not None for ref in refs)

    def _returned(self, called: BackwardCalled, failed: bool) -> None:
        self.log.emit(
            BackwardReturned(self.log.next_ordinal(), called.site, called.ordinal, failed)
        )

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
                culprits = tuple(autograd.corrupted_saves(self.ledger, roots))
            self.log.emit(
                Raised(
                    self.log.next_ordinal(),
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


def _kind_of(func: Any) -> tuple[int, str, bool]:
    """Return `functions.classify` of it, and whether it may write to its arguments."""
    kind, op = functions.classify(func)
    return kind, op, type(func) is FunctionType or functions.writes_in_place(op)


def _written(
    tids: tuple[int, ...], inputs: list[Tensor], versions: list[int]
) -> tuple[int, ...] | None:
    """Return the inputs that a function changed; None if it left them alone."""
    changed = [
        tid
        for tid, tensor, version in zip(tids, inputs, versions, strict=True)
        if version_of(tensor) != version
    ]
    return tuple(changed) or None


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


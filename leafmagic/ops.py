"""Recording ops: in full where they are new, in brief where they repeat."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from leafmagic import functions
from leafmagic.autograd import flatten, grad_fn_of, is_leaf, version_of
from leafmagic.events import OpCalled, RoundFolded, WriteAttempted, Written
from leafmagic.fingerprints import MemoryWatch
from leafmagic.ledger import REFS, Ledger
from leafmagic.log import EventLog, Repeat
from leafmagic.marks import DEEPEST, MARK, alive, gone
from leafmagic.turns import Outcome, Turns

Output = Callable[[int, bool, list[Tensor], list[Tensor]], None]

Parameters = Callable[[FrameType | None, list[tuple[int, Tensor]]], bool]

_tuple = tuple.__new__
"""Makes a NamedTuple in half the time of its own constructor."""

MOST_TURNS = 150_000
"""Beyond this many ops that are new, what is new is no longer recorded: some 200 MB."""


class OpRecorder:
    """Turns calls of torch functions into events.

    Parameters
    ----------
    ledger : Ledger
    log : EventLog

    Attributes
    ----------
    step : int
        Finished backward passes.
    full : bool
        Whether so much was recorded that what is new is left out from now on.
    on_output : callable or None
        Called with site, direct, inputs and outputs of every op.
    on_parameters : callable or None
        Called with the calling frame and the parameters whose module is not known;
        returns whether it now is.
    on_overwritten : callable or None
        Called once for each place where a library wrote to a tensor and returned it, with
        the calling frame, the site and the tensor.
    """

    def __init__(self, ledger: Ledger, log: EventLog) -> None:
        self.ledger = ledger
        self.log = log
        self.step = 0
        self.full = False
        self.on_output: Output | None = None
        self.on_parameters: Parameters | None = None
        self.memory: MemoryWatch | None = None
        self.on_overwritten: Callable[[FrameType | None, int, Tensor], None] | None = None
        self._overwritten: set[tuple[int, str, int]] = set()
        self._turns: list[dict[str, Turns]] = []
        self._made = 0
        self._sunk: set[tuple[int, str]] = set()
        self._placed: set[int] = set()

    def before(
        self,
        func: Any,
        op: str,
        site: int,
        direct: bool,
        args: Any,
        kwargs: Any,
        tids: tuple[int, ...],
    ) -> tuple[int, ...] | list[int]:
        """Return what an op is about to write, or the versions by which to tell later."""
        if type(func) is FunctionType:
            # Python functions (torch.nn.init, inplace=True) decide for themselves
            # whether and under which grad mode they write: look afterwards.
            return list(map(version_of, flatten((*args, *kwargs.values()), [])))
        targets: list[Tensor] = []
        if "out" in kwargs:
            flatten((kwargs["out"],), targets)
        elif functions.writes_in_place(op):
            flatten(args[:1] or tuple(kwargs.values())[:1], targets)
        wrote = tuple([self.ledger.tensor(t) for t in targets])
        if wrote and self.memory is not None:
            self.memory.wrote(targets, site, args[1] if op == "setitem" else None)
        if wrote and torch.is_grad_enabled():
            ordinal = self.log.next_ordinal()
            seen = self.ledger.take()
            self.log.emit(WriteAttempted(ordinal, site, op, direct, wrote, tids, *seen))
        return wrote

    def record(  # noqa: C901 - the hot path
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
        """Record an op that returned."""
        if before is not None and isinstance(before, list):
            before = _written(tids, flatten((*args, *kwargs.values()), []), before) or None
        turns = self._turns
        if site >= len(turns):
            turns.extend({} for _ in range(site - len(turns) + 1))
        known = turns[site].get(op)
        if known is None:
            known = turns[site][op] = Turns()
        step, turn, plain = self.step, known.turn, known.plain
        if known.step != step:
            turn = known.restart(step)
        if turn >= len(plain):
            turn = known.next_turn(_key(args, kwargs, result))
            if known.folded is not None:
                self._fold(site, op, known)
        if (
            before is None
            and turn < len(plain)
            and (last := plain[turn]) is not None
            and self.ledger.repeated(result, last, turn < known.turn, tids, self.log.ordinal + 1)
        ):
            if turn == known.turn:
                known.turn = turn + 1
            log = self.log
            log.ordinal += 1
            last.times += 1
            if not last.dirty:
                log.repeats(last)
            if self.on_output is not None:
                self.on_output(site, direct, flatten(args, []), [result])
            return
        inputs = flatten((*args, *kwargs.values()), [])
        wrote: tuple[int, ...] = before or ()
        if wrote and self._is_update(wrote, result):
            self.log.note(Written(self.log.next_ordinal(), site, op, wrote[0], tids))
            return
        new = turn >= known.most
        made = self._record_fully(site, direct, op, inputs, tids, result, wrote, turn, new=new)
        if made is not None:
            outcome = () if made[0] is not None else _outcome(result)
            known.made(turn, _key(args, kwargs, result), made[0], outcome)

    def _fold(self, site: int, op: str, turns: Turns) -> None:
        """Record that rounds of a loop are one from now on."""
        assert turns.folded is not None  # noqa: S101  (asked just before)
        self.log.note(RoundFolded(self.log.next_ordinal(), site, op, *turns.folded))
        turns.folded = None

    def _is_update(self, wrote: tuple[int, ...], result: Any) -> bool:
        """Tell whether an op did nothing but change one known tensor, grad mode off."""
        return (
            len(wrote) == 1
            and isinstance(result, Tensor)
            and not self.ledger.new_tensors
            and not torch.is_grad_enabled()
            and is_leaf(result)
        )

    def _record_fully(  # noqa: C901 - one record
        self,
        site: int,
        direct: bool,
        op: str,
        inputs: list[Tensor],
        tids: tuple[int, ...],
        result: Any,
        wrote: tuple[int, ...],
        turn: int,
        *,
        new: bool,
    ) -> tuple[Repeat | None] | None:
        """Record an op with all that it made.

        Returns
        -------
        tuple of (Repeat or None) or None
            What to compare with in the next step, so that a short record will do;
            (None,) if it is not of that kind; None if nothing was recorded.
        """
        ledger = self.ledger
        made = [result] if type(result) is Tensor else flatten((result,), [])
        if (not made and not wrote) or (self.full and new):
            return None
        if new:
            self._count()
        outputs = tuple([ledger.tensor(t) for t in made])
        if wrote:
            self._describe_written(wrote, tids, inputs, made)
        grad_enabled = made[0].requires_grad if made else True
        grad_enabled = grad_enabled or torch.is_grad_enabled()
        tensors, nodes = ledger.take()
        ordinal = self.log.next_ordinal()
        fields = (
            ordinal, site, op, direct, tids, outputs, tensors, nodes, grad_enabled, wrote, turn,
        )  # fmt: skip
        self.log.emit(_tuple(OpCalled, fields))
        self._place_parameters(tids, inputs)
        if self.memory is not None:
            self.memory.meet(tids, inputs)
        if self.on_output is not None:
            self.on_output(site, direct, inputs, made)
        if wrote and not direct and made and outputs[0] in wrote:
            self._tell_overwritten(site, op, turn, made[0])
        if wrote or len(tensors) != 1 or tensors[0].tid != outputs[0] or len(made) != 1:
            return (None,)
        nid = tensors[0].nid
        name = ""
        for node in nodes:
            if node.nid == nid:
                name = node.name
        if nid >= 0 and not name:
            return (None,)
        # Where a node is expected, its kind says whether the output is a view.
        base = tensors[0].base
        never = bool(name) and base < 0
        place = (site, op, direct, turn)
        return (Repeat(place, name, never, REFS[id(made[0])], mark_of(made[0])),)

    def _count(self) -> None:
        """Count what is new; what takes the place of something before fills no more memory."""
        self._made += 1
        self.full = self._made >= MOST_TURNS

    def _tell_overwritten(self, site: int, op: str, turn: int, tensor: Tensor) -> None:
        place = (site, op, turn)
        if self.on_overwritten is not None and place not in self._overwritten:
            self._overwritten.add(place)
            self.on_overwritten(sys._getframe(4), site, tensor)

    def _place_parameters(self, tids: tuple[int, ...], inputs: list[Tensor]) -> None:
        """Have the module looked up that parameters belong to, once for each."""
        if self.on_parameters is None or torch.nn.Parameter not in map(type, inputs):
            return
        new: list[tuple[int, Tensor]] = [
            (tid, tensor)
            for tid, tensor in zip(tids, inputs, strict=True)
            if type(tensor) is torch.nn.Parameter and tid not in self._placed
        ]
        if new and self.on_parameters(sys._getframe(4), new):
            self._placed.update(tid for tid, _ in new)

    def place_asked(self, args: Any, kwargs: Any) -> None:
        """Have the parameters looked up that a refused ``autograd.grad`` was asked for."""
        asked = flatten([*args[1:2], kwargs.get("inputs")], [])
        self._place_parameters(tuple(map(self.ledger.tensor, asked)), asked)

    def _describe_written(
        self,
        wrote: tuple[int, ...],
        tids: tuple[int, ...],
        inputs: list[Tensor],
        made: list[Tensor],
    ) -> None:
        """Describe what an in-place op changed: a known tensor has a new grad_fn."""
        for tensor in made:
            node = None if self.ledger.is_deep(tensor) else grad_fn_of(tensor)
            if node is not None:
                self.ledger.node(node)
        for tid, tensor in zip(tids, inputs, strict=True):
            if tid not in wrote:
                continue
            self.ledger.redescribe(tensor, tid)
            base = tensor._base
            if base is not None:
                # Writing to a view gives its base a new history, too.
                self.ledger.redescribe(base, self.ledger.tensor(base))

    def sink(self, site: int, direct: bool, name: str, tensor: Tensor) -> None:
        """Record, once per place, that a tensor was turned into something else."""
        if (site, name) in self._sunk:
            return
        self._sunk.add((site, name))
        tid = self.ledger.tensor(tensor)
        seen = self.ledger.take()
        ordinal, op = self.log.next_ordinal(), functions.plain_name(name)
        if self.memory is not None and name in ("numpy", "__array__"):
            self.memory.hand_over(tensor, site)
        self.log.emit(OpCalled(ordinal, site, op, direct, (tid,), (), *seen, True, ()))


def _key(args: Any, kwargs: Any, result: Any) -> tuple[int, ...]:
    """Return what runs of an op have in common that may take one another's place."""
    given = (*args, *kwargs.values()) if kwargs else args
    layer = [REFS[id(one)].tid for one in given if type(one) is Parameter and id(one) in REFS]
    return (int(result.requires_grad) if type(result) is Tensor else -1, *layer)


def _outcome(result: Any) -> Outcome:
    """Return what tells whether all that an op made is gone."""
    made = flatten((result,), [])
    return tuple([(REFS[id(tensor)], mark_of(tensor)) for tensor in made if id(tensor) in REFS])


def _written(tids: tuple[int, ...], inputs: list[Tensor], versions: list[int]) -> tuple[int, ...]:
    """Return the inputs that a function changed."""
    return tuple(
        [
            tid
            for tid, tensor, version in zip(tids, inputs, versions, strict=True)
            if version_of(tensor) != version
        ]
    )


def mark_of(tensor: Tensor) -> Callable[[], Any]:
    """Return what tells whether the node behind a tensor is gone."""
    ref = REFS.get(id(tensor))
    if ref is not None and ref.depth > DEEPEST:
        return alive
    node = grad_fn_of(tensor)
    mark = None if node is None else node.metadata.get(MARK)
    return gone if mark is None else weakref.ref(mark)

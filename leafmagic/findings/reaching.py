"""Which leaves the losses of a trace reached, and what shows that others were meant to be."""

from __future__ import annotations

import ast
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import Accessed, BackwardReturned, OpCalled, Stepped
from leafmagic.findings.source import Source, source_at
from leafmagic.looks import Held, ModuleSeen, Wired
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import Pass, TensorRecord

SINKS = frozenset({"item", "tolist", "numpy", "float", "int", "array", "index"})
"""Ops that turn a tensor into numbers that autograd does not know."""

_SHAPED = ("empty", "zeros", "ones", "full", "rand", "randn")
"""What takes a shape from a tensor, and no values."""

_MOST = 20_000
_MOST_SITES = 20


@dataclass(slots=True)
class Steps:
    """What is known of an optimizer that took steps.

    Attributes
    ----------
    had, idle : set of int
        tids that had a gradient in some step, and that had none in some.
    """

    name: str
    site: int
    had: set[int]
    idle: set[int]
    last: tuple[Any, ...] = ()


class Reaching:
    """Takes down, while a trace runs, what is asked when it ends.

    Attributes
    ----------
    reached : set of int
        Indices of the records of leaves that some pass got to.
    filled : set of int
        tids that had a gradient when an optimizer stepped.
    asked : dict
        By index of a leaf the site at which its gradient was read, and was None.
    alias_sites : dict
        By index of what ``.data`` gave, where that was read.
    sinks : list of (index, op, site)
        Tensors that were turned into numbers.
    steps : dict
        By optimizer.
    held : dict
        By tid, what holds it; known when the trace ends.
    """

    def __init__(self) -> None:
        self.reached: set[int] = set()
        self.filled: set[int] = set()
        self.asked: dict[int, int] = {}
        self.alias_sites: dict[int, int] = {}
        self.sinks: list[tuple[int, str, int]] = []
        self.steps: dict[int, Steps] = {}
        self.held: dict[int, Held] = {}
        self.everything: tuple[Held, ...] = ()
        self.modules: tuple[ModuleSeen, ...] = ()
        self.read: set[int] = set()
        """Indices of leaves whose gradient was read, and was there."""
        self.copies: set[int] = set()
        """Indices of the copies of values that were told of."""
        self.missed: Any = None
        self.began = 0
        self.walked = 0
        """Ordinal of the newest pass that was looked at in full."""
        self._walks: dict[int, int] = {}
        self._newest = 0

    def note(self, event: Any, model: Model) -> None:
        """Take an event in; does nothing for one that was taken in already."""
        if event.ordinal <= self._newest:
            return
        self._newest = event.ordinal
        if isinstance(event, Stepped):
            self._stepped(event)
        elif isinstance(event, Accessed):
            self._accessed(event, model)
        elif isinstance(event, OpCalled):
            record = model.tensor(event.inputs[0]) if event.inputs else None
            if record is not None and len(self.sinks) < _MOST:
                self.sinks.append((record.index, event.op, event.site))
        elif isinstance(event, BackwardReturned):
            self._returned(event, model)
        elif isinstance(event, Wired):
            self._ended(event, model)

    def _stepped(self, event: Stepped) -> None:
        known = self.steps.get(event.optimizer)
        if known is None:
            known = self.steps[event.optimizer] = Steps(event.name, event.site, set(), set())
        if known.last != (event.tids, event.idle):
            known.last = (event.tids, event.idle)
            known.had.update(event.tids)
            known.idle.update(event.idle)
            self.filled.update(event.tids)

    def _accessed(self, event: Accessed, model: Model) -> None:
        record = model.tensor(event.tid)
        if record is None:
            return
        if event.what == "data":
            value = model.tensor(event.value)
            if value is not None:
                self.alias_sites[value.index] = event.site
        elif event.what == "grad" and event.by_user and event.value == -1 and model.steps:
            if event.is_leaf and event.requires_grad and record.index not in self.asked:
                place = model.place(event.site)
                if place is not None and _is_asked(place):
                    self.asked[record.index] = event.site
        elif event.what == "grad" and event.value != -1 and event.is_leaf:
            self.reached.add(record.index)
            self.read.add(record.index)

    def _returned(self, event: BackwardReturned, model: Model) -> None:
        if event.failed:
            return
        self.began = self.began or event.ordinal
        # A pass that is new each step must not cost a walk each step.
        count = self._walks[event.site] = self._walks.get(event.site, 0) + 1
        if count & (count - 1) == 0:
            known = next((p for p in reversed(model.passes) if p.ordinal == event.began), None)
            if known is not None:
                self.walked = event.began
                self._walk(known, model)

    def _walk(self, known: Pass, model: Model) -> None:
        self.reached.update(leaf.index for leaf in reach(model, known.roots).leaves)
        # What autograd.grad was asked for got its gradient, or torch raised.
        asked = (model.tensor(tid) for tid in known.inputs)
        self.reached.update(record.index for record in asked if record is not None)

    def _ended(self, event: Wired, model: Model) -> None:
        for known in newest_passes(model):
            self._walk(known, model)
        self.held = {one.tid: one for one in event.held if one.tid >= 0}
        self.everything, self.modules = event.held, event.modules

    def is_reached(self, record: TensorRecord) -> bool:
        """Tell whether some pass gave a leaf a gradient."""
        if record.has_grad and not record.old_grad:
            return True
        return record.index in self.reached or record.tid in self.filled

    def idle_in(self, record: TensorRecord) -> Steps | None:
        """Return an optimizer that stepped, and that a leaf never had a gradient for."""
        for steps in self.steps.values():
            if record.tid in steps.idle and record.tid not in steps.had:
                return steps
        return None

    def was_updated(self, record: TensorRecord) -> bool:
        """Tell whether the code wrote to a leaf after the first pass: it is trained otherwise."""
        return any(write.ordinal > self.began for write in record.writes)


_known: weakref.WeakKeyDictionary[Model, Reaching] = weakref.WeakKeyDictionary()


def reaching(model: Model) -> Reaching:
    """Return what was taken down of a trace; one for all rules."""
    found = _known.get(model)
    if found is None:
        found = _known[model] = Reaching()
    return found


def newest_passes(model: Model) -> list[Pass]:
    """Return the newest pass of each place that came to its end."""
    found: dict[int, Pass] = {}
    for known in reversed(model.passes):
        if known.finished and not known.failed and known.site not in found:
            found[known.site] = known
            if len(found) >= _MOST_SITES:
                break
    return list(found.values())


def parents(model: Model, record: TensorRecord) -> list[TensorRecord]:
    """Return what the values of a tensor come from, in one step."""
    op, inputs = record.made.what, record.inputs
    if op == "new_tensor":
        inputs = inputs[1:]
    elif op.endswith("_like") or op.removeprefix("new_") in _SHAPED:
        inputs = ()
    tids = [*inputs, record.seen.base, record.alias]
    found = {r.index: r for tid in tids if (r := model.tensors.get(tid)) is not None}
    found.pop(record.index, None)
    return list(found.values())


def values_behind(model: Model, roots: Iterable[int]) -> dict[int, TensorRecord]:
    """Return all tensors whose values go into the roots, with a graph or without, by index."""
    queue = [record for tid in roots if (record := model.tensors.get(tid)) is not None]
    found = {record.index: record for record in queue}
    for record in queue:
        if len(found) > _MOST:
            break
        for above in parents(model, record):
            if above.index not in found:
                found[above.index] = above
                queue.append(above)
    return found


def children_of(model: Model) -> dict[int, list[TensorRecord]]:
    """Return, by index, what was computed from each tensor."""
    found: dict[int, list[TensorRecord]] = {}
    for record in model.slots.records:
        for above in parents(model, record):
            found.setdefault(above.index, []).append(record)
    return found


def texts_at(*places: Place | None) -> list[Source]:
    """Return the parsed texts that places are in, each once."""
    found: dict[str, Source] = {}
    for place in places:
        if place is not None and place.filename not in found:
            found[place.filename] = source_at(place)
    return list(found.values())


def _is_asked(place: Place) -> bool:
    """Tell whether a read wants the gradient, or lists who has none; a guard wants nothing."""
    if not place.compared_with_none:
        return True
    source = source_at(place)
    for node in source.nodes:
        if (
            isinstance(node, ast.Attribute)
            and node.lineno == place.line
            and source.words(node) == place.source
        ):
            above = list(source.parents(node))
            test = next((n for n in above if isinstance(n, ast.Compare)), None)
            return test is not None and _is_listed(test, above)
    return False


def _is_listed(test: ast.Compare, above: list[ast.AST]) -> bool:
    """Tell whether a comparison with None picks, or shows, one by one, who has no gradient."""
    none = isinstance(test.ops[0], ast.Is | ast.Eq)
    inside = next((n for n in above if isinstance(n, ast.ListComp | ast.DictComp | ast.SetComp)), 0)
    if any(isinstance(n, ast.Call) and _name(n.func) in ("all", "any", "sum") for n in above):
        return False
    if isinstance(inside, ast.ListComp | ast.DictComp | ast.SetComp):
        picks = any(test is part for made in inside.generators for part in made.ifs)
        return not picks or none
    branch = next((n for n in above if isinstance(n, ast.If | ast.While | ast.Assert)), None)
    looped = any(isinstance(n, ast.For) for n in above)
    if isinstance(branch, ast.If):
        told = (n for part in branch.body for n in ast.walk(part) if isinstance(n, ast.Call))
        return looped and none and any(_name(call.func) == "print" for call in told)
    shown = any(isinstance(n, ast.Call) and _name(n.func) == "print" for n in above)
    return branch is None and looped and shown


def _name(node: ast.AST) -> str:
    return getattr(node, "id", "")

"""A state that brings the graph of one step into the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafmagic.events import Accessed, OpCalled
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.detaching import as_taken_over, cut_at_entry, without_retain
from leafmagic.findings.freed import SecondTime
from leafmagic.findings.growing import announced, may_end
from leafmagic.findings.pieces import (
    Told,
    told_of,
)
from leafmagic.looks import Finished, Raised, StepsShown
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import Pass
from leafmagic.session import PassOver
from leafmagic.shared import Piece, children, nearest_named

_STEPS_SHOWN = 3


@register
class CarriedState(SecondTime):
    """A state carried from step to step with the graph of the steps before.

    A hidden state that one step leaves to the next is attached to the graph that made
    it. backward in the first step frees that graph; in the second step backward goes on
    into it and fails. Detached at the start of a step, a state is a plain value.

    Failing cell::

        cell = torch.nn.RNNCell(2, 2)
        h = torch.zeros(1, 2)
        for _ in range(2):
            h = cell(torch.ones(1, 2), h)
            h.sum().backward()              # RuntimeError in the second step

    Fixed::

        cell = torch.nn.RNNCell(2, 2)
        h = torch.zeros(1, 2)
        for _ in range(2):
            h = h.detach()
            h = cell(torch.ones(1, 2), h)
            h.sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    kind = "carried_state"
    code = "LM531"
    how = "carried"

    def tell(self, told: Told, model: Model, last: Pass) -> Finding:
        """Name the state, and where its graph was freed."""
        told = as_taken_over(told, model)
        over = told.piece.over
        if isinstance(over, PassOver):
            before, freed = "run", f"its backward ({over.label}, line {over.line})"
        else:
            before = "step"
            freed = f"the backward at line {None if over is None else model.line(over.site)}"
        verb = "goes" if len(told.distinct) == 1 else "go"
        fix, edits = cut_at_entry(told, model, before)
        return self.finding(
            f"{told.names} {verb} into this {before} with the graph of the {before} before, which "
            f"{freed} freed.",
            fix=fix,
            variable=told.name,
            cause=told.place,
            symptom=model.line(last.site),
            record=told.record,
            edits=edits,
        )


@register
class GrowingState(Rule):
    """A state carried from step to step, and ``retain_graph=True`` to keep torch quiet.

    With ``retain_graph=True`` nothing is freed: the graph of each step holds those of all
    steps before, backward walks all of them, and time and memory grow with every step.

    Failing cell::

        w = torch.ones(1, requires_grad=True)
        h = torch.zeros(1)
        for _ in range(4):
            h = torch.tanh(0.5 * h + w)
            w.grad = None
            h.sum().backward(retain_graph=True)

    Fixed::

        w = torch.ones(1, requires_grad=True)
        h = torch.zeros(1)
        for _ in range(4):
            h = torch.tanh(0.5 * h.detach() + w)
            w.grad = None
            h.sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    kind = "carried_state"
    code = "LM532"
    events = (StepsShown, Finished, Raised, Accessed)
    ops = frozenset({"detach", "detach_"})

    def __init__(self) -> None:
        self._cut: set[int] = set()
        self._refused = False
        self._announced: set[int | None] = set()

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Judge when all is known: a state that is cut now and then does not grow.

        Before that, where nothing in the text could cut it.
        """
        if isinstance(event, OpCalled | Accessed):
            tids = event.inputs if isinstance(event, OpCalled) else (event.tid,)
            if isinstance(event, OpCalled) or event.what == "data":
                self._cut |= {r.index for r in map(model.tensor, tids) if r is not None}
        elif isinstance(event, Raised):
            self._refused = self._refused or bool(event.inputs)
        elif not self._refused:
            yield from self._growing(model, running=isinstance(event, StepsShown))

    def _growing(self, model: Model, *, running: bool) -> Iterator[Finding]:
        newest = {one.site: one for one in model.passes if one.finished and not one.failed}
        for site, last in newest.items():
            steps = sum(one.times for one in model.passes if one.site == site)
            if steps < _STEPS_SHOWN or not _keeps(last):
                continue
            for told in _states(model, last):
                if running and (told.place is None or may_end(told.place, told.name, bindings=1)):
                    continue
                if told.record is None or told.record.index not in self._cut:
                    yield self._told(told, model, last, steps)
                    break

    def _told(self, told: Told, model: Model, last: Pass, steps: int) -> Finding:
        now = model.place(last.site)
        fix, edits = cut_at_entry(
            told,
            model,
            then="and backward() without retain_graph",
            also=() if now is None else without_retain(now),
        )
        verb = "keeps" if len(told.distinct) == 1 else "keep"
        return self.finding(
            f"{told.names} {verb} the graph of every earlier step, "
            f"and retain_graph=True hides it: {steps} steps so far, "
            "and backward walks all of them in each.",
            fix=fix,
            variable=told.name,
            cause=told.place,
            symptom=None if now is None else now.line,
            record=told.record,
            count=announced(self._announced, told.line),
            edits=edits,
        )


def _keeps(one: Pass) -> bool:
    return one.what == "backward" and one.retain_graph and not one.create_graph


def _states(model: Model, last: Pass) -> list[Told]:
    """Return what a pass came to that an earlier step had made."""
    carried = {
        (child.node.index, child.output_nr): child
        for node in reach(model, last.roots).nodes
        for child in children(model, node)
        if child.carried
    }
    found = [
        Piece(node, True, last, nearest_named(model, node, output_nr), (user,) if user else ())
        for node, output_nr, _, user in carried.values()
    ]
    return told_of(model, found)

"""A graph kept over an optimizer's step, which changes what the graph saved."""

from __future__ import annotations

from collections.abc import Iterator

from leafmagic.edits import Edit
from leafmagic.findings import fixes, former, restructure
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.detaching import cut_at_entry, without_retain
from leafmagic.findings.pieces import Told, is_carried, kept_piece, statement_of, told_of
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.records import Moment
from leafmagic.session import PassOver
from leafmagic.shared import pieces_run_over


@register
class StaleGraph(Rule):
    """A graph that was computed before an optimizer's step, and used again after it.

    A graph saves weights, and the step changes them in place: the graph belongs to
    weights that are no more. ``retain_graph=True`` keeps the graph, not the weights. It
    is mostly there to silence "backward a second time", whose cause is the same: what is
    used again has to be computed anew, or detached.

    Failing cell::

        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        out = net(torch.ones(1, 2))
        for _ in range(2):
            out.mean().backward(retain_graph=True)      # RuntimeError in the second step
            opt.step()
            opt.zero_grad()

    Fixed::

        net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(2):
            out = net(torch.ones(1, 2))
            out.mean().backward()
            opt.step()
            opt.zero_grad()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
    """

    kind = "saved_tensor_mutated"
    code = "LM203"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look whether the write was an update, and the graph older than it."""
        found = kept_piece(event, model)
        before = former.kept_over(event, model) if found is None else None
        if found is not None:
            yield self._told(*found, model, event)
        elif before is not None:
            yield self._of_an_earlier_cell(*before, model, event)

    def _of_an_earlier_cell(
        self, change: former.Change, over: PassOver, model: Model, event: Raised
    ) -> Finding:
        last, step = model.passes[-1], former.where(model, change.writes[0].place)
        pieces = pieces_run_over(model, last, lambda one: one == over)
        told = next(iter(told_of(model, pieces)), None)
        saved = former.place_of_node(model, change.node)
        place = saved if told is None or told.place is None else told.place
        name = model.name_of(last.roots[0]) if told is None else told.name
        source, now = statement_of(place), model.place(last.site)
        fix = f"compute `{name}` anew before each backward, and leave out retain_graph"
        edits: tuple[Edit, ...] = ()
        first = None if saved is None else former.where(model, saved)
        if first is not None and first != former.where(model, place):
            fix = f"compute `{name}` anew, from {first} on, and leave out retain_graph"
        elif source and now is not None and not now.scope:
            fix = f"paste it above the backward, and leave out retain_graph: {source}"
            dropped = without_retain(now)
            edits = fixes.insert_before(now, source)
            edits = fixes.together(edits, dropped) if dropped else edits
        return self.finding(
            f"{step} changes weights in place; `{name}` ({former.where(model, place)}) was "
            "computed before that, and its graph saved them as they were. retain_graph=True "
            "keeps the graph, not the weights.",
            fix=fix,
            edits=edits,
            variable=name,
            cause=place,
            symptom=model.line(event.site),
            record=None if told is None else told.record,
        )

    def _told(self, told: Told, write: Moment, model: Model, event: Raised) -> Finding:
        last, step = model.passes[-1], model.line(write.site)
        now = model.place(last.site)
        edits: tuple[Edit, ...] = ()
        if is_carried(told.piece, model, last):
            brings = "brings" if len(told.distinct) == 1 else "bring"
            what = f"{told.names} {brings} the graph of the step before into this one"
            fix, edits = cut_at_entry(
                told,
                model,
                then="and backward() without retain_graph",
                also=() if now is None else without_retain(now),
            )
        else:
            at = f"line {told.line}{f' of {told.made_in}' if told.made_in else ''}"
            what = f"`{told.name}` ({at}) was computed before that"
            fix = f"compute `{told.name}` anew after line {step}"
            if any(one is not last and one.site == last.site for one in model.passes):
                # The same line ran before: it is in a loop.
                fix = (
                    f"compute `{told.name}` anew in each step: move line {told.line} into the loop"
                )
                if told.place is not None and now is not None:
                    edits = fixes.together(
                        restructure.moved_into_loop(told.place, now), without_retain(now)
                    )
            fix += ", and leave out retain_graph"
        return self.finding(
            f"line {step} changes weights in place; {what}, and its graph saved them as they "
            "were. retain_graph=True keeps the graph, not the weights.",
            fix=fix,
            variable=told.name,
            cause=told.place,
            symptom=model.line(event.site),
            record=told.record,
            edits=edits,
        )

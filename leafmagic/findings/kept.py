"""A graph kept over an optimizer's step, which changes what the graph saved."""

from __future__ import annotations

from collections.abc import Iterator

from leafmagic.edits import Edit
from leafmagic.findings import fixes, restructure
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.detaching import cut_at_entry, without_retain
from leafmagic.findings.pieces import Told, is_carried, kept_piece
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.records import Moment


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
        if found is not None:
            yield self._told(*found, model, event)

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
            what = f"`{told.name}` (line {told.line}) was computed before that"
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

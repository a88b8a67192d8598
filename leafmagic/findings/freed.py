"""Backward over a graph that an earlier pass has used up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.events import BackwardReturned
from leafmagic.findings import fixes, restructure, rewrites
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.inline import Mend
from leafmagic.findings.leaves import leaves_behind, meant_leaf
from leafmagic.findings.pieces import (
    Told,
    how_shared,
    last_pass,
    statement_of,
    told_of,
)
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import Pass, TensorRecord, best_name
from leafmagic.session import PassOver
from leafmagic.shared import older_pieces, pieces_run_over

_SECOND_TIME = "Trying to backward through the graph a second time"


def _frees(one: Pass | PassOver) -> bool:
    return not (one.retain_graph if isinstance(one, Pass) else one.retained)


class SecondTime(Rule):
    """What the rules for torch's refusal of a second pass have in common.

    They wait for the refusal. Whether a graph is freed could be asked of its nodes before
    the pass; but torch raises in that very call, so that the reader would know it no sooner.

    Attributes
    ----------
    how : str
        Which shared pieces the rule tells of; see `how_shared`.
    """

    severity = "error"
    events = (Raised,)
    how: ClassVar[str] = ""

    def tell(self, told: Told, model: Model, last: Pass) -> Finding:
        """Make the finding."""
        raise NotImplementedError

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Find the piece that both passes share."""
        last = last_pass(event, model)
        if last is None or not event.text.startswith(_SECOND_TIME):
            return
        pieces = pieces_run_over(model, last, _frees) or older_pieces(model, last)
        for told in told_of(model, pieces)[:1]:
            if how_shared(told.piece, model, last) == self.how:
                yield self.tell(told, model, last)


@register
class GraphFreed(SecondTime):
    """A second backward pass through a piece of graph that the first one freed.

    A pass frees what the ops saved for it. What was computed once, before a loop, and
    used in each of its steps is there for the first step only; the same goes for a loss
    that is part of another one. torch names neither the piece nor the pass.

    Failing cell::

        pre, model = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        x = pre(torch.ones(1, 2)).tanh()
        for _ in range(2):
            model(x).sum().backward()       # RuntimeError in the second step

    Fixed::

        pre, model = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        for _ in range(2):
            x = pre(torch.ones(1, 2)).tanh()
            model(x).sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors
    """

    kind = "graph_freed"
    code = "LM521"
    how = "freed"

    def tell(self, told: Told, model: Model, last: Pass) -> Finding:
        """Say which pass freed it."""
        over = told.piece.over
        if not isinstance(over, Pass):
            raise TypeError("a pass of this trace is told of here")
        was_root = told.record is not None and told.record.tid in over.roots
        if was_root and over.site != last.site:
            return self._of_a_loss(told, model, over, last)
        freed, now = model.line(over.site), model.place(last.site)
        here = "the step before" if over.site == last.site else f"line {freed}"
        name = told.name
        fix, edits = self._fix(told, model, over, last)
        return self.finding(
            f"`{name}` (line {told.line}) was computed once, and {here} ran backward through it, "
            f"which freed its graph. Line {None if now is None else now.line} needs it again.",
            fix=fix,
            edits=edits,
            variable=name,
            cause=told.place,
            symptom=None if now is None else now.line,
            record=told.record,
        )

    def _fix(self, told: Told, model: Model, over: Pass, last: Pass) -> Mend:
        """Compute it in each step, or detach it where nobody trains what is behind it."""
        before, now, made = model.place(over.site), model.place(last.site), told.place
        if over.site != last.site:
            first, second = _root_name(model, over), _root_name(model, last)
            if _is_only_read(told, model, over, last):
                loss = f"`{first}`" if first else f"the loss of line {model.line(over.site)}"
                return Mend(f"use {told.name}.detach() in what {loss} is computed from")
            if first and second and first != second:
                both = f"({first} + {second}).backward()"
                return Mend(f"{both}  # once, in place of both", _once(before, now, both))
            return Mend(f"call backward once, on the sum of both losses, or detach `{told.name}`")
        hidden = _leaf_inside(told, model)
        if hidden is not None:
            return hidden
        detached = told.detached()
        if detached and _is_untrained(told, model):
            known = made is not None and made.targets == (told.name,) and made.filename
            return Mend(detached, fixes.replace_statement(made, detached) if made and known else ())
        moved = restructure.moved_into_loop(made, now) if made and now else ()
        move = f"compute `{told.name}` inside the loop: move line {told.line} to its top"
        if detached:
            return Mend(f"{move}; or, if that is not trained: {detached}", moved)
        return Mend(f"{move}; or call backward once, on the sum of the losses", moved)

    def _of_a_loss(self, told: Told, model: Model, over: Pass, last: Pass) -> Finding:
        """Tell of a loss that had its own pass, and is part of another or passed again."""
        place, now = model.place(over.site), model.place(last.site)
        line, again = model.line(over.site), None if now is None else now.line
        if told.piece.is_root:
            return self.finding(
                f"`{told.name}` was backpropagated at line {line} already, which freed its graph.",
                fix=f"drop line {again}; or retain_graph=True in line {line}, if both are meant",
                variable=told.name,
                cause=now,
                record=told.record,
                edits=() if now is None else _without(now),
            )
        name = _root_name(model, last) or told.name
        what = f"`{told.name}`, whose graph" if name != told.name else "losses whose graphs"
        return self.finding(
            f"`{name}` contains {what} the backward at line {line} freed already.",
            fix=f"drop the backward at line {line} and keep that at line {again}; or add up "
            f"{told.name}.item() for a number",
            variable=name,
            cause=place,
            symptom=again,
            record=told.record,
            edits=() if place is None else _without(place),
        )


@register
class SecondPassUnnoticed(Rule):
    """A second backward pass over a graph in which no op saved anything.

    torch refuses a second pass only where an op needs what it saved: ``sum``, ``mean``,
    ``add``, ``view`` and ``cat`` save nothing. There the second pass runs, and adds the
    same gradient once more.

    Failing cell::

        x = torch.ones(3, requires_grad=True)
        s = x.sum()
        s.backward()
        s.backward()            # x.grad is 2, not 1

    Fixed::

        x = torch.ones(3, requires_grad=True)
        s = x.sum()
        s.backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    kind = "graph_freed"
    code = "LM522"
    events = (BackwardReturned,)

    def check(self, event: BackwardReturned, model: Model) -> Iterator[Finding]:
        """Look for an earlier pass from the same root, and for what came in between."""
        now = next((p for p in reversed(model.passes) if p.ordinal == event.began), None)
        if now is None or event.failed or now.what != "backward" or now.inputs:
            return
        before = next((p for p in reversed(model.passes) if _is_same_again(p, now)), None)
        if before is None:
            return
        leaves = reach(model, now.roots).leaves
        root = model.tensor(now.roots[0])
        if root is None or root.is_leaf or not leaves:
            return
        if not all(_holds_both(leaf, model, before) for leaf in leaves):
            return
        first, name = model.line(before.site), best_name(root) or "this"
        filled = best_name(leaves[0])
        yield self.finding(
            f"line {first} ran backward over the graph of `{name}` already. No op in it saved "
            f"anything, so torch did not object: `{filled}.grad` is doubled.",
            fix=f"drop this second backward, or set {filled}.grad = None before it",
            variable=name,
            cause=model.place(now.site),
            record=root,
        )


def _holds_both(leaf: TensorRecord, model: Model, before: Pass) -> bool:
    """Tell whether a gradient is still the sum of an earlier pass and what came after it."""
    account = model.gradients.of(leaf.tid)
    if account is not None and (account.passes < 2 or account.steps or account.handled):
        return False
    cleared = leaf.cleared is not None and leaf.cleared.ordinal > before.finished
    return not cleared and not any(write.ordinal > before.finished for write in leaf.writes)


def _is_same_again(one: Pass, now: Pass) -> bool:
    return (
        one.ordinal < now.ordinal
        and one.roots == now.roots
        and one.what == "backward"
        and one.finished > 0
        and not one.failed
        and not one.retain_graph
    )


@register
class StaleCell(SecondTime):
    """Backward over a graph that an earlier cell, or an earlier run of the cell, used up.

    In a notebook the forward part stands in one cell and backward in another. Run again
    alone, the second meets a graph that its first run has freed.

    Failing cell::

        import torch
        theta = torch.ones(3, requires_grad=True)
        cost = theta.exp().sum()
        # %%
        theta.grad = None
        cost.backward()
        # %% rerun 2

    Fixed::

        import torch
        theta = torch.ones(3, requires_grad=True)
        # %%
        cost = theta.exp().sum()
        theta.grad = None
        cost.backward()
        # %% rerun 2

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    kind = "notebook_stale_state"
    code = "LM541"
    how = "stale"

    def tell(self, told: Told, model: Model, last: Pass) -> Finding:
        """Say which cell made it, which used it up, and which to run again."""
        over, session = told.piece.over, model.session
        made = told.made_in or "an earlier cell"
        if not isinstance(over, PassOver):
            used = "an earlier run"
        elif session.is_rerun(model.run, over.run):
            used = f"an earlier run of this cell ({over.label}, line {over.line})"
        else:
            used = f"{over.label or 'an earlier pass'}, line {over.line},"
        if told.record is None:
            return self.finding(
                f"`{told.name}` is computed from something that {used} ran backward through, "
                "which freed its graph.",
                fix="detach what this cell takes over from there, or run again the cell that "
                "makes it",
                variable=told.name,
                cause=told.place,
                symptom=model.line(last.site),
            )
        again = f"run {made} again first" if told.made_in else f"compute `{told.name}` again first"
        source, now = statement_of(told.place), model.place(last.site)
        return self.finding(
            f"`{told.name}` comes from {made}; {used} ran backward through it, which freed its "
            "graph.",
            fix=f"{again}; or paste it above the backward: {source}" if source else again,
            edits=fixes.insert_before(now, source) if source and now and not now.scope else (),
            variable=told.name,
            cause=told.place,
            symptom=model.line(last.site),
            record=told.record,
        )


def _once(first: Place | None, second: Place | None, both: str) -> tuple[Edit, ...]:
    """Put one pass in the place of two."""
    if first is None or second is None or first.function != second.function:
        return ()
    return fixes.together(_without(first), fixes.replace_expression(second, both))


def _without(passed: Place) -> tuple[Edit, ...]:
    """Take a pass away that is a statement of its own."""
    alone = passed.statement == passed.source
    return fixes.remove_statement(passed) if alone else ()


def _root_name(model: Model, one: Pass) -> str:
    return model.name_of(one.roots[0]) if len(one.roots) == 1 else ""


def _leaf_inside(told: Told, model: Model) -> Mend | None:
    """Make a leaf of what was meant to be one: its line makes all the leaves behind it.

    In the loop it would be made anew in each step, and detached it would not be trained.
    """
    record, made = told.record, told.place
    meant = None if record is None or made is None else meant_leaf(model, record)
    if record is None or made is None or meant is None or not meant.anonymous:
        return None
    behind = leaves_behind(model, record)
    if any(leaf.names or leaf.path for leaf in behind):
        return None
    edits = rewrites.new_leaf(made, len(behind))
    return Mend(fixes.flag_last(made, told.name, len(behind)), edits)


def _is_only_read(told: Told, model: Model, over: Pass, last: Pass) -> bool:
    """Tell whether a step was taken between two passes, and of nothing behind their piece."""
    behind = {leaf.index for leaf in reach(model, told.tids).leaves}
    moved = {
        record.index
        for record in model.slots.records
        if record.is_leaf
        and any(over.finished < write.ordinal < last.ordinal for write in record.writes)
    }
    return bool(moved) and not moved & behind


def _is_untrained(told: Told, model: Model) -> bool:
    """Tell whether something was updated, and nothing of that lies behind a piece."""
    behind = {leaf.index for leaf in reach(model, told.tids).leaves}
    moved = {
        record.index
        for record in model.slots.records
        if record.is_leaf and record.requires_grad and record.writes
    }
    return bool(moved) and not moved & behind

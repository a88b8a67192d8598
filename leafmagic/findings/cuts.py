"""Gradients that stop on the way: copies of values, detach, numbers, integers, grad mode off."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import Accessed, BackwardReturned, Stepped
from leafmagic.findings import decided, mends, ungraphed
from leafmagic.findings.base import Finding, Rule, Severity, register
from leafmagic.findings.custom_calls import refused_inside, refused_root
from leafmagic.findings.ends import (
    COPIES,
    NO_GRAPH,
    Cut,
    Earlier,
    Missed,
    cut_at,
    first_cut,
    missed,
    named,
    path_of,
    sunk_into,
    unused_inputs,
    word_for,
)
from leafmagic.findings.flows import entered_by_hand, words_in
from leafmagic.findings.frozen import unforced
from leafmagic.findings.inline import Mend
from leafmagic.findings.lasting import made_while_off, since
from leafmagic.findings.leaves import made_at
from leafmagic.findings.reaching import SINKS, newest_passes, parents, reaching, values_behind
from leafmagic.findings.standins import stand_ins
from leafmagic.findings.updating import is_update, replaced_leaf, updated_item
from leafmagic.looks import Raised, Rebound, Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name


@register
class ValuesCopied(Rule):
    """A loss uses a copy of a tensor's values, made by ``torch.tensor`` and its like.

    ``torch.tensor([a, b])``, ``torch.as_tensor([a, b])`` and ``x.new_tensor(y)`` copy
    numbers. The result knows nothing of what they were computed from, so that backward
    stops there; setting ``requires_grad`` on it only makes a new leaf. The part of the loss
    behind the copy has no effect on any gradient, without an error.

    Failing cell::

        w = torch.ones(2, requires_grad=True)
        main, aux = (w ** 2).sum(), (w * 10).sum()
        extra = torch.tensor([aux, aux])
        (main + extra.sum()).backward()
        print(w.grad)          # without the 20 of aux

    Fixed::

        w = torch.ones(2, requires_grad=True)
        main, aux = (w ** 2).sum(), (w * 10).sum()
        extra = torch.stack([aux, aux])
        (main + extra.sum()).backward()
        print(w.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
    """

    kind = "graph_cut"
    code = "LM401"
    events = (BackwardReturned, Wired, Accessed)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at copies behind the roots of a pass, of leaves only when all is known."""
        known = reaching(model)
        known.note(event, model)
        if isinstance(event, Accessed):
            return
        if isinstance(event, Wired):
            roots = [tid for one in newest_passes(model) for tid in one.roots]
        elif known.walked == event.began and not event.failed:
            roots = [t for one in model.passes if one.ordinal == event.began for t in one.roots]
        else:
            return
        for record in values_behind(model, roots).values():
            if record.made.what not in COPIES or record.index in known.copies:
                continue
            cut = cut_at(model, known, record)
            if cut is None or cut.how != "copy":
                continue
            if record.requires_grad and not (
                isinstance(event, Wired) and self._is_meant(record, model)
            ):
                continue
            known.copies.add(record.index)
            yield self._told(cut, roots, model)

    def _is_meant(self, copy: TensorRecord, model: Model) -> bool:
        """Tell whether a copy that is a leaf stands for the original, rather than for itself."""
        known = reaching(model)
        if any(one.cut is not None and one.cut.below.index == copy.index for one in missed(model)):
            return True
        own = copy.index in known.read or known.was_updated(copy) or copy.tid in known.filled
        return not own

    def _told(self, cut: Cut, roots: list[int], model: Model) -> Finding:
        word = word_for(model, cut.below)
        origin = named(r for r in parents(model, cut.below) if r.requires_grad)
        origin = origin or "what it was made from"
        leaf = (
            " It is a new leaf, and so no gradient goes further." if cut.below.requires_grad else ""
        )
        line = model.line(next((p.site for p in model.passes if set(p.roots) & set(roots)), 0))
        mend = mends.joined(cut, word)
        return self.finding(
            f"`{word}` is not connected to {origin}: `{cut.below.made.what}` copied the numbers, "
            f"and backward stops at `{word}`.{leaf}",
            fix=mend.fix,
            edits=mend.edits,
            variable=word,
            cause=cut.place,
            symptom=line,
            record=cut.below,
        )


@register
class NothingToDifferentiate(Rule):
    """``backward`` is called on a result that has no graph.

    torch says that element 0 of tensors does not require grad. Somewhere on the way from
    the leaves the graph was cut: by ``detach``, ``.item()``, a copy of the values,
    ``no_grad``, or an op that gives integers, such as ``argmax``. The line of that cut is
    what has to change, not the call of ``backward``.

    Failing cell::

        w = torch.ones(2, requires_grad=True)
        total = 0.
        for x in (1., 2.):
            total += (w * x).sum().item()
        torch.tensor(total).backward()

    Fixed::

        w = torch.ones(2, requires_grad=True)
        total = 0.
        for x in (1., 2.):
            total += (w * x).sum()
        total.backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    kind = "graph_cut"
    code = "LM402"
    severity = "error"
    events = (Raised, Rebound)
    ops = SINKS

    def __init__(self) -> None:
        self._updated: set[int] = set()
        """What took the name of a leaf by its own update: that is told of as a lost leaf."""

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Walk back from the root of a pass that torch refused."""
        if isinstance(event, Rebound):
            if is_update(model, event):
                self._updated.add(event.new)
            return
        if not isinstance(event, Raised):
            reaching(model).note(event, model)
            return
        place = model.place(event.site)
        if place is None or NO_GRAPH not in event.text or not event.inputs:
            return
        if refused_inside(event, model) or made_while_off(refused_root(event), model):
            return  # Told by the rule on ``backward`` of custom functions, or on grad mode.
        found = first_cut(model, refused_root(event))
        if found is not None:
            path = [step.tid for step in found[1]]
            if entered_by_hand(found[0].switch(model)) or since(found[0], model) is not None:
                return  # The rules on modes that last tell of it.
            if not any(self._is_update(tid, model) for tid in path):
                yield self._cut(place, *found, model)
            return
        yield from self._numbers(event, place, model)

    def _is_update(self, tid: int, model: Model) -> bool:
        return tid in self._updated or bool(updated_item(model, tid) or replaced_leaf(model, tid))

    def _cut(self, place: Place, cut: Cut, path: list[TensorRecord], model: Model) -> Finding:
        word = word_for(model, cut.below, path)
        if cut.how == "no_grad":
            # Nothing from here to the root has a graph.
            spelt = place.owner if place.owner.isidentifier() else ""
            word = spelt or best_name(path[-1]) or word
        switch = cut.switch(model)
        mend = decided.instead(cut, path, model) or mends.mended(cut, word, switch, place)
        return self.finding(
            mends.told(cut, word, switch) + " So there is no graph to go back through.",
            fix=mend.fix,
            edits=mend.edits,
            variable=word,
            cause=cut.place if switch is None else switch.place,
            symptom=place.line,
            record=cut.below,
        )

    def _numbers(self, event: Raised, place: Place, model: Model) -> Iterator[Finding]:
        """Look for the line that made a number of a tensor; else for leaves without grad."""
        behind = list(values_behind(model, refused_root(event)).values())
        for record in behind:
            made = made_at(model, record)
            if record.inputs and record.made.what not in COPIES:
                continue
            at = made or place
            words = {bound.name for bound in record.names}
            for text in [bound.source for bound in record.names] + [made.source if made else ""]:
                words |= words_in(text)
            sunk = sunk_into(model, words, at)
            if sunk is None:
                continue
            name, sink, cut = sunk
            word = name or (sink.targets[0] if sink.targets else word_for(model, record))
            op = mends.call_of(sink)
            copied = made if made is not None and record.made.what in COPIES else None
            mend = mends.kept(sink, copied)
            again = f", and line {copied.line} makes a constant of it" if copied else ""
            yield self.finding(
                f"`{word}` is a plain number: `{op}` at line {sink.line} took it out of the "
                f"graph{again}. So there is no graph to go back through.",
                fix=mend.fix,
                edits=mend.edits,
                variable=word,
                cause=sink,
                symptom=place.line,
                record=cut.above,
            )
            return
        found = ungraphed.without_grad(behind, place, model)
        if found is not None:
            yield self.finding(
                f"{found.why} So there is {found.nothing}.",
                fix=found.mend.fix,
                edits=found.mend.edits,
                variable=found.name,
                cause=found.cause,
                line=found.line,
                symptom=place.line,
                record=found.record,
            )


@register
class PathEnds(Rule):
    """A leaf was used for the loss, and its gradient stops on the way.

    Backward ran without an error and reached other leaves, but this one's ``.grad`` was
    read and is None, or an optimizer steps and never finds one. The line that cuts the
    path is named: ``detach``, ``.data``, ``no_grad``, a number, an op without a gradient.

    Failing cell::

        def features(x):
            return (x ** 2).detach()
        x = torch.ones(3, requires_grad=True)
        enc = torch.nn.Linear(3, 1)
        enc(features(x)).sum().backward()
        print(x.grad)          # None

    Fixed::

        def features(x):
            return x ** 2
        x = torch.ones(3, requires_grad=True)
        enc = torch.nn.Linear(3, 1)
        enc(features(x)).sum().backward()
        print(x.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    kind = "graph_cut"
    code = "LM403"
    events = (BackwardReturned, Accessed, Stepped, Raised, Wired)
    ops = SINKS

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Take down what happens; judge when all is known."""
        known = reaching(model)
        known.note(event, model)
        if isinstance(event, Raised):
            yield from self._refused(event, model)
        if not isinstance(event, Wired):
            return
        for found in stand_ins(model):
            yield self.finding(
                found.message,
                fix=found.fix,
                variable=found.variable,
                cause=found.cause,
                symptom=found.symptom,
                record=found.record,
            )
        groups: dict[tuple[Any, ...], list[Missed]] = {}
        told: list[Earlier] = []
        for one in missed(model):
            cut = one.cut
            if one.earlier is not None and one.earlier not in told:
                told.append(one.earlier)
                yield self._earlier(one, one.earlier, model)
            if cut is None or cut.place is None or cut.below.index in known.copies:
                continue
            if not mends.is_reentrant(cut.place) and since(cut, model) is None:
                groups.setdefault((cut.place.filename, cut.place.line, cut.how), []).append(one)
        for group in groups.values():
            first = next((one for one in group if one.asked is not None), group[0])
            if first.cut is not None:
                yield self.told(group, first, first.cut, model)

    def _earlier(self, one: Missed, earlier: Earlier, model: Model) -> Finding:
        """Tell of a tensor that an earlier cell left without a graph."""
        name = best_name(one.leaf) or word_for(model, one.leaf)
        word, place = earlier.name, earlier.place
        cell = f"line {place.line} of {place.label}"
        if ".detach()" in place.text:
            how, fix = "was detached", place.text.strip().replace(".detach()", "", 1)
        else:
            how, fix = "was made without a graph", f"compute {word} anew, with grad mode on"
        return self.finding(
            f"`{name}` gets no gradient: `{word}` {how} at {cell}, and the loss goes back no "
            "further.",
            fix=fix,
            variable=name,
            cause=place,
            symptom=None if one.asked is None else one.asked.line,
            record=one.leaf,
        )

    def _refused(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at a call of ``autograd.grad`` that found no path."""
        for record, _ in unused_inputs(event, model):
            cut, _ = path_of(model, record, event.inputs)
            if cut is not None and cut.place is not None:
                at = model.place(event.site)
                one = Missed(record, at, "", None, cut, None)
                yield dataclasses.replace(self.told([one], one, cut, model), severity="error")

    def told(self, group: list[Missed], first: Missed, cut: Cut, model: Model) -> Finding:
        """Tell of leaves whose path ends at one cut."""
        switch = cut.switch(model)
        leaves = [one.leaf for one in group]
        verb = "gets" if len(leaves) == 1 else "get"
        names = named(leaves) or f"`{word_for(model, first.leaf)}`"
        at = first.asked or first.stepped
        severity = _severity(first, cut)
        mend = unforced(mends.mended(cut, word_for(model, cut.below), switch), cut.below, model)
        if cut.how in ("detach", "data") and cut.below.count < _most_passes(model):
            # What is computed once has a graph for one pass only.
            mend = Mend(f"{mend.fix}  # and in the loop, once for each backward")
        return self.finding(
            f"{names} {verb} no gradient: " + mends.told(cut, word_for(model, cut.below), switch),
            fix=mend.fix,
            # What may be meant is not changed for anybody.
            edits=() if severity == "info" else mend.edits,
            variable=best_name(first.leaf) or word_for(model, first.leaf),
            cause=cut.place if switch is None else switch.place,
            symptom=None if at is None else at.line,
            record=first.leaf,
            severity=severity,
        )


def _most_passes(model: Model) -> int:
    times: Counter[int] = Counter()
    for one in model.passes:
        times[one.site] += one.times
    return max(times.values(), default=0)


def _severity(one: Missed, cut: Cut) -> Severity:
    """Return how grave a cut is: that of an op of its own may be meant."""
    return "warning" if one.asked is not None or cut.how != "other" else "info"

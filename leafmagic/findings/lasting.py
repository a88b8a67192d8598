"""Grad mode that an earlier cell switched off, and that nothing switched on again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from leafmagic.bygone import ModeOff
from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, Rule, Severity, register
from leafmagic.findings.custom_calls import refused_inside, refused_root
from leafmagic.findings.earlier import cell_text
from leafmagic.findings.ends import NO_GRAPH, Cut, cut_at, first_cut, missed, word_for
from leafmagic.findings.flows import left_off_in
from leafmagic.findings.reaching import reaching
from leafmagic.looks import Raised, Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name
from leafmagic.session import MadeAt

_ON = "torch.set_grad_enabled(True)"
_MOST = 50
"""So many named results are looked at, at most."""


def since(cut: Cut, model: Model) -> ModeOff | None:
    """Tell whether a result has no graph because grad mode was off when the trace began."""
    off = model.session.off.get(model.run)
    if off is None or cut.how != "no_grad":
        return None
    switch = cut.switch(model)
    if switch is not None and (switch.how != "call" or switch.place.label != off.label):
        return None
    # What was computed with a graph before shows that it was on again.
    again = any(
        record.nid >= 0 and record.made.site and record.made.ordinal < cut.below.made.ordinal
        for record in model.slots.records
    )
    return None if again else off


def made_while_off(roots: Iterable[int], model: Model) -> tuple[TensorRecord, MadeAt] | None:
    """Return a root that an earlier cell computed while grad mode was off from the start."""
    for tid in roots:
        record, made = model.tensor(tid), model.session.made.get(tid)
        if record is None or made is None or record.made.site or record.requires_grad:
            continue
        if made.run in model.session.off and "(" in made.source:
            return record, made
    return None


def _switch(off: ModeOff) -> Place | None:
    """Return the line that switched grad mode off, where the text of its cell shows it."""
    return left_off_in(cell_text(off.label, off.text)) if off.label else None


@register
class GradModeLeftOff(Rule):
    """A cell runs with grad mode off, since an earlier cell switched it off.

    ``torch.set_grad_enabled(False)`` is not undone at the end of a cell. It holds until
    something switches grad mode on again, so that what later cells compute has no graph.

    Failing cell::

        import torch
        w = torch.ones(2, requires_grad=True)
        torch.set_grad_enabled(False)
        print(w.sum())
        # %%
        loss = (w * 2).sum()
        loss.backward()        # RuntimeError
        # %%
        torch.set_grad_enabled(True)

    Fixed::

        import torch
        w = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            print(w.sum())
        # %%
        loss = (w * 2).sum()
        loss.backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.set_grad_enabled.html
    """

    kind = "grad_mode"
    code = "LM705"
    severity = "error"
    events = (Raised, Wired)

    def __init__(self) -> None:
        self._told = False

    def check(self, event: Raised | Wired, model: Model) -> Iterator[Finding]:
        """Look at what backward refuses; at the end at results that came without a graph."""
        off = model.session.off.get(model.run)
        if isinstance(event, Wired):
            if off is not None and not self._told:
                yield from self._silent(model, off)
            return
        place = model.place(event.site)
        if place is None or NO_GRAPH not in event.text or refused_inside(event, model):
            return
        roots = refused_root(event)
        earlier = made_while_off(roots, model)
        if earlier is not None:
            self._told = True
            yield self._made(*earlier, place, model)
            return
        found = first_cut(model, roots)
        if off is not None and found is not None and since(found[0], model) is not None:
            self._told = True
            word = best_name(found[1][-1]) or word_for(model, found[0].below, found[1])
            yield self._said(off, found[0], word, place.line, model)

    def _silent(self, model: Model, off: ModeOff) -> Iterator[Finding]:
        """Tell of what would need a graph, though nothing raised."""
        for one in missed(model):
            if one.cut is not None and one.asked is not None and since(one.cut, model) is not None:
                word = best_name(one.leaf) or word_for(model, one.leaf)
                yield self._said(off, one.cut, word, one.asked.line, model, "warning")
                return
        key = ("grad_mode", off.run)
        if key in model.session.told or not model.session.label(model.run):
            return
        named = [r for r in model.slots.records if r.names and r.made.site and not r.requires_grad]
        for record in named[:_MOST]:
            found_cut = first_cut(model, (record.tid,))
            if found_cut is not None and since(found_cut[0], model) is not None:
                model.session.told.add(key)
                line = model.line(record.made.site)
                yield self._said(off, found_cut[0], best_name(record), line, model, "info")
                return

    def _made(self, record: TensorRecord, made: MadeAt, place: Place, model: Model) -> Finding:
        """Tell of a root that an earlier cell computed."""
        off, word = model.session.off[made.run], best_name(record) or made.name
        label = model.session.label(made.run) or made.label
        here = Place("", label, "<module>", made.line or 1, made.line or 1, text=made.source)
        switch = _switch(off)
        return self.finding(
            f"{_since(off, switch)}, and so it was when line {made.line} of {label} computed "
            f"`{word}`: there is no graph to go back through.",
            fix=f"{_ON}  # and then run {label} again",
            variable=word,
            cause=switch or here,
            symptom=place.line,
            record=record,
        )

    def _said(
        self,
        off: ModeOff,
        cut: Cut,
        word: str,
        symptom: int | None,
        model: Model,
        severity: Severity = "error",
    ) -> Finding:
        switch = _switch(off)
        line = "" if cut.place is None else f" at line {cut.place.line}"
        what = f"`{word}`, computed{line}, has no graph to go back through"
        if severity == "warning":
            what = f"what is computed of `{word}`{line} has no graph"
        meant = ", if gradients are wanted" if severity == "info" else ""
        first = _first(model) if severity != "info" else None
        return self.finding(
            f"{_since(off, switch)}: {what}.",
            fix=f"{_ON}  # at the start of this cell{meant}",
            edits=() if first is None else fixes.insert_before(first, _ON),
            variable=word,
            cause=switch or cut.place,
            symptom=symptom,
            record=cut.below,
            severity=severity,
        )


def _since(off: ModeOff, switch: Place | None) -> str:
    """Say since when grad mode is off."""
    if switch is not None:
        return f"grad mode has been off since line {switch.line} of {off.label}"
    if off.label:
        return f"grad mode has been off since {off.label}"
    return "grad mode was off already when this cell began"


def _first(model: Model) -> Place | None:
    """Return the first line of the cell itself that lost a graph."""
    known = reaching(model)
    for record in model.slots.records:
        cut = None if record.requires_grad else cut_at(model, known, record)
        if cut is not None and cut.how == "no_grad" and cut.place is not None:
            return cut.place if not cut.place.scope else None
    return None

"""``requires_grad`` and ``retain_grad`` used in ways that do nothing, or not enough."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.events import Accessed
from leafmagic.findings import fixes, rewrites
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.leaves import cut_behind, is_through, made_at
from leafmagic.findings.source import source_read
from leafmagic.looks import AttributeStored, Raised, SourceRead
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name

_PROPERTIES = {
    "requires_grad": "requires_grad_()",
    "is_leaf": "is_leaf",
    "retains_grad": "retains_grad",
}
_DTYPE_REFUSED = re.compile(r"nly Tensors of floating point .*can require gradients")


@register
class RequiresGradFlag(Rule):
    """The flag was set on the wrong thing, or in a way that changes nothing.

    ``requires_grad`` is a bool of tensors: a module has ``requires_grad_()`` only, a
    misspelt name makes a new Python attribute, integers cannot require grad, calling
    the bool fails, and setting the flag on a computed tensor does not make it a leaf.

    Failing cell::

        net = torch.nn.Linear(2, 1)
        for p in net.parameters():
            p.require_grad = False      # a new attribute; nothing is frozen

    Fixed::

        net = torch.nn.Linear(2, 1)
        for p in net.parameters():
            p.requires_grad = False     # or net.requires_grad_(False)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
    """

    kind = "requires_grad_flag"
    code = "LM301"
    events = (AttributeStored, Raised, Accessed, SourceRead)

    def __init__(self) -> None:
        self._strays: list[tuple[Finding, AttributeStored]] = []
        self._texts: dict[str, SourceRead] = {}

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at stray attributes, refusals and flags set on computed tensors."""
        if isinstance(event, AttributeStored):
            for told in self._stray(event):
                self._strays.append((told, event))
                read = self._texts.get(event.label)
                yield told if read is None else _mended(told, event, read)
        elif isinstance(event, SourceRead):
            self._texts[event.label] = event
            for told, stored in self._strays:
                if told.cell == event.label:
                    yield dataclasses.replace(_mended(told, stored, event), count=0)
        elif isinstance(event, Accessed):
            yield from self._no_op(event, model)
        elif event.text == "'bool' object is not callable":
            yield from self._called(event, model)
        elif _DTYPE_REFUSED.search(event.text):
            yield from self._integers(event, model)
        elif "you can only change requires_grad flags of leaf variables" in event.text:
            yield from self._computed(event, model)

    def _stray(self, event: AttributeStored) -> Iterator[Finding]:
        whole = bool(event.value) and "\n" not in event.value
        if event.module:
            message = (
                f"`{event.owner}` is a module: this makes a Python attribute, and its "
                "parameters stay as they are."
            )
            fix = f"{event.owner}.requires_grad_({event.value})"
            words = f"call requires_grad_() of `{event.owner}`, which sets all its parameters"
        else:
            message = (
                f"`{event.name}` is a new Python attribute that torch does not know; the flag "
                "is `requires_grad`."
            )
            fix = f"{event.owner}.requires_grad = {event.value}"
            words = f"set `{event.owner}.requires_grad`"
        base = self.finding(message, fix=fix if whole else words, variable=event.owner)
        yield _at(base, event.line, event.label)

    def _no_op(self, event: Accessed, model: Model) -> Iterator[Finding]:
        if event.what != "requires_grad_" or event.is_leaf or not event.requires_grad:
            return
        record, place = model.tensor(event.tid), model.place(event.site)
        if event.value is not True or record is None or place is None:
            return
        if place.attribute != event.what and place.kind:
            return  # A library did it, on the way to something else.
        variable = _spelt(place, record)
        fix = f"{variable}.retain_grad()"
        if not fixes.is_kept(variable):
            name = place.targets[0] if len(place.targets) == 1 and not place.unpacked else ""
            kept = f"{name} = {variable}; {name}.retain_grad()"
            fix = kept if name else fixes.retained_under_a_name(variable)
        yield self.finding(
            f"`{variable}` already requires grad, being computed; requires_grad_() does not make "
            f"it a leaf, and `{fixes.chained(variable, 'grad')}` stays None.",
            fix=fix,
            edits=rewrites.retained_here(place, variable),
            variable=variable,
            cause=place,
            record=record,
            severity="info",
        )

    def _computed(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Tell of a flag set on a computed tensor, which torch refuses."""
        record = model.tensor(event.inputs[0]) if event.inputs else None
        place = model.place(event.site)
        if record is None or place is None:
            return
        variable = _spelt(place, record)
        off, kept = ".detach()" in event.text, fixes.is_kept(variable)
        fix = f"{variable}.retain_grad()" if kept else fixes.retained_under_a_name(variable)
        if off:
            bound = len(place.targets) == 1 and place.kind == "Call"
            name = place.targets[0] if bound else variable if kept else ""
            fix = f"{name} = {fixes.chained(variable, 'detach()')}".removeprefix(" = ")
        yield self.finding(
            f"`{variable}` is computed, and whether it requires grad follows from what it was "
            "computed from; only a leaf has a flag to set.",
            fix=fix,
            edits=rewrites.unflagged(place, variable, off=off),
            variable=variable,
            cause=place,
            record=record,
            severity="error",
        )

    def _called(self, event: Raised, model: Model) -> Iterator[Finding]:
        place = model.place(event.site)
        if place is None or place.kind != "Call" or place.attribute not in _PROPERTIES:
            return
        right = _PROPERTIES[place.attribute]
        hint = (
            "the method that sets it has a trailing underscore: requires_grad_()"
            if place.attribute == "requires_grad"
            else "read it without parentheses"
        )
        fix, edits = rewrites.called_flag(place, right)
        yield self.finding(
            f"`{place.owner}.{place.attribute}` is a bool, not a method; {hint}.",
            fix=fix,
            edits=edits,
            variable=place.owner,
            cause=place,
            severity="error",
        )

    def _integers(self, event: Raised, model: Model) -> Iterator[Finding]:
        place = model.place(event.site)
        if place is None:
            return
        record = model.tensor(event.inputs[0]) if event.inputs else None
        parameter = place.source.partition("(")[0].endswith("Parameter")
        if parameter and len(place.operands) > 1:
            variable = place.operands[1]
            message = f"Parameters require grad, and `{variable}` does not hold floats."
            fix = f"torch.nn.Parameter({variable}, requires_grad=False)"
            new = fixes.replace_expression(place, fix)
            yield self._refused(message, fix, variable, place, place, record, new)
        elif record is not None:
            variable = place.targets[0] if place.targets else _spelt(place, record)
            owner = place.owner or variable
            dtype = str(record.seen.dtype).removeprefix("torch.")
            message = f"`{owner}` is {dtype}: only floating point and complex tensors can."
            floats = f"{fixes.chained(owner, 'float()')}.requires_grad_()"
            fix = f"{variable} = {floats}" if fixes.is_kept(variable) else floats
            cause = made_at(model, record) or place
            new = rewrites.as_floats(place, variable)
            if cause.targets == (variable,) and not cause.unpacked and cause is not place:
                floats = fixes.chained(fixes.words(cause) or variable, "float()")
                fix, new = f"{variable} = {floats}", fixes.replace_expression(cause, floats)
            yield self._refused(message, fix, variable, cause, place, record, new)
        else:
            given = place.owner if event.op == "requires_grad_" else ""
            variable = place.targets[0] if place.targets else given or place.source
            what = f"`{given}` holds integers" if given else f"`{event.op}` makes integers here"
            message = f"{what}, and integers cannot require grad."
            source = fixes.without_flag(fixes.words(place))
            head = f"{variable} = " if place.targets else ""
            floats = f"{fixes.chained(source, 'float()')}.requires_grad_()"
            fix = f"{head}{floats}" if source else "make floats: dtype=torch.float32"
            new = fixes.replace_expression(place, floats)
            yield self._refused(message, fix, variable, place, place, None, new)

    def _refused(
        self,
        message: str,
        fix: str,
        variable: str,
        cause: Place,
        symptom: Place,
        record: TensorRecord | None,
        edits: tuple[Edit, ...],
    ) -> Finding:
        return self.finding(
            message,
            fix=fix,
            edits=edits,
            variable=variable,
            cause=cause,
            symptom=symptom.line,
            record=record,
            severity="error",
        )


def _mended(told: Finding, stored: AttributeStored, read: SourceRead) -> Finding:
    """Tell of a stray attribute with its edit, now that its text is read."""
    edits = rewrites.stray(source_read(read), stored)
    return dataclasses.replace(told, fix=edits[0].replacement if edits else told.fix, edits=edits)


def _at(finding: Finding, line: int | None, label: str) -> Finding:
    return dataclasses.replace(finding, line=line, symptom_line=line, cell=label or None)


def _spelt(place: Place, record: TensorRecord) -> str:
    return place.owner or best_name(record)


@register
class RetainGradMisuse(Rule):
    """``retain_grad()`` where it cannot keep what is read later.

    It works for later backward passes only, on tensors that require grad, and follows
    the newest value of a tensor that is written in place.

    Failing cell::

        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.sum().backward()
        y.retain_grad()        # too late
        print(y.grad)          # None

    Fixed::

        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.retain_grad()
        y.sum().backward()
        print(y.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
    """

    kind = "retain_grad_misuse"
    code = "LM302"
    events = (Accessed, Raised)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at reads of retained gradients and at torch's refusal."""
        if isinstance(event, Raised):
            if event.op == "retain_grad" and "requires_grad=False" in event.text:
                yield from self._refused(event, model)
            return
        if event.what != "grad" or not event.by_user or not event.retains_grad:
            return
        record, place = model.tensor(event.tid), model.place(event.site)
        if record is None or place is None or record.retained is None:
            return
        if event.value == -1 and not place.compared_with_none:
            yield from self._empty(model, record, place)
        elif event.value != -1:
            yield from self._disagrees(model, record, place)

    def _empty(self, model: Model, record: TensorRecord, place: Place) -> Iterator[Finding]:
        retained = record.retained
        if retained is None:
            return
        variable = _spelt(place, record)
        done = [p for p in model.passes if p.finished and not p.failed and p.what == "backward"]
        written = self._base_writes(model, record, retained.ordinal)
        after = [p for p in done if p.ordinal > retained.ordinal]
        bypassed = after and written is not None
        done = [p for p in done if p.ordinal > record.made.ordinal and is_through(model, p, record)]
        if done and done[-1].ordinal < retained.ordinal and not bypassed:
            yield self.finding(
                f"retain_grad() came after the backward of line {model.line(done[-1].site)}; "
                "it keeps the gradients of later backward passes only.",
                fix=f"{variable}.retain_grad()  # before line {model.line(done[-1].site)}",
                edits=rewrites.retained_earlier(
                    model.place(retained.site), model.place(done[-1].site), variable
                ),
                variable=variable,
                cause=model.place(retained.site),
                symptom=place.line,
                record=record,
            )
        elif after and written is not None:
            yield self.finding(
                f"This in-place write to the base of `{variable}` gave its views a new history; "
                f"the gradient now bypasses `{variable}`.",
                fix="write in place before taking views of it and calling retain_grad()",
                variable=variable,
                cause=model.place(written),
                symptom=place.line,
                record=record,
            )

    def _base_writes(self, model: Model, record: TensorRecord, since: int) -> int | None:
        if record.seen.base < 0:
            return None
        root = model.root(record)
        for other in model.tensors.values():
            if other.tid == record.tid or model.root(other) != root:
                continue
            for write in other.writes:
                if write.ordinal > since:
                    return write.site
        return None

    def _disagrees(self, model: Model, record: TensorRecord, place: Place) -> Iterator[Finding]:
        variable = _spelt(place, record)
        for hook in record.hooked:
            late = [w for w in record.writes if w.ordinal > hook.ordinal]
            if late:
                yield self.finding(
                    f"The hook of line {model.line(hook.site)} belongs to the value of "
                    f"`{variable}` before this in-place write; `{variable}.grad` is the gradient "
                    "of the value after it.",
                    fix=f"give the new value a name of its own: new = {variable}.clone()",
                    variable=variable,
                    cause=model.place(late[0].site),
                    symptom=place.line,
                    record=record,
                )
                return

    def _after_cut(
        self, model: Model, cut: TensorRecord, variable: str, place: Place, record: TensorRecord
    ) -> Finding:
        what = f"`{cut.made.what}` cut the graph here"
        if not cut.grad_enabled and cut.made.what != "detach":
            what = f"grad mode was off when `{cut.made.what}` ran here"
        return self.finding(
            f"`{variable}` does not require grad: {what}, so there is no gradient to keep.",
            fix=f"retain what comes before it, or compute `{variable}` with its graph",
            variable=variable,
            cause=made_at(model, cut) or place,
            symptom=place.line,
            record=record,
            severity="error",
        )

    def _refused(self, event: Raised, model: Model) -> Iterator[Finding]:
        record = model.tensor(event.inputs[0]) if event.inputs else None
        place = model.place(event.site)
        if record is None or place is None:
            return
        variable = _spelt(place, record)
        cut = cut_behind(model, record)
        if cut is not None:
            yield self._after_cut(model, cut, variable, place, record)
            return
        sources = [r for r in model.ancestors(record.tid) if not r.inputs]
        first = sources[0] if sources else record
        made = made_at(model, first) or place
        name = best_name(first)
        because = f" because `{name}` does not" if name and first is not record else ""
        target = name or variable
        yield self.finding(
            f"`{variable}` does not require grad{because}: there is no gradient to keep.",
            fix=f"{target}.requires_grad_()  # after line {made.line}",
            edits=rewrites.flag_after(made, target),
            variable=variable,
            cause=made,
            symptom=place.line,
            record=record,
            severity="error",
        )

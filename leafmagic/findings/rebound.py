"""Updates that lose the leaf."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from leafmagic.events import Accessed, BackwardCalled, Finished, Raised, Rebound
from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.leaves import classify_read, made_at, unfilled_read
from leafmagic.model import Model
from leafmagic.records import TensorRecord

_OUT_OF_PLACE = frozenset({"add", "sub", "mul", "div", "addcmul", "addcdiv", "lerp"})


@register
class LeafRebound(Rule):
    """An update that makes a new tensor instead of changing the weight.

    ``w = w - lr * w.grad`` points the name ``w`` to the result. The leaf is gone: under
    ``no_grad`` the result does not require grad, outside it is a non-leaf. Either way
    the next ``w.grad`` is None.

    Failing cell::

        w = torch.tensor(1., requires_grad=True)
        for _ in range(2):
            ((w - 8) ** 2).backward()
            w = w - 0.1 * w.grad

    Fixed::

        for _ in range(2):
            ((w - 8) ** 2).backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html
    """

    kind = "leaf_rebound"
    code = "LM103"
    events = (Accessed, Rebound, Raised, BackwardCalled, Finished)

    def __init__(self) -> None:
        # What was rebound may yet be made a leaf again, by the next line or in the next
        # round: it is judged when its gradient is wanted, or at the end.
        self._pending: dict[tuple[str, str], int] = {}
        self._mended: set[tuple[str, str]] = set()
        self._said: dict[str, Finding] = {}

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at rebindings, at reads, and at errors from a ``.grad`` that is None."""
        if isinstance(event, Rebound):
            if self._is_update(model, event):
                self._pending[(event.scope, event.name)] = event.new
        elif isinstance(event, Raised):
            if "NoneType" in event.text:
                yield from self._again(event, model)
                yield from self._judge(model, final=False)
                yield from self._none(event, model)
        elif not isinstance(event, Accessed):
            yield from self._judge(model, final=isinstance(event, Finished))
        elif event.what == "grad":
            yield from self._judge(model, final=False)
            read = unfilled_read(event, model)
            if read is not None:
                record, place, variable = read
                kind, meant = classify_read(model, record, place, variable)
                if kind == self.kind and meant is not None:
                    yield self._told(model, record, variable, place.line)

    def _again(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Repeat what was said of a name whose ``.grad`` an error is about."""
        place = model.place(event.site)
        for name, said in self._said.items():
            if place is not None and f"{name}.grad" in place.text:
                yield dataclasses.replace(said, count=0, symptom_line=place.line)

    def _is_update(self, model: Model, event: Rebound) -> bool:
        """Tell whether a leaf was replaced by what its own gradient went into."""
        above = {r.tid: r for r in model.ancestors(event.new, 60)}
        grads = [tid for tid in above if model.grad_values.get(tid) == event.old]
        # The sign of a gradient makes an adversarial example: data, not a weight.
        signed = any(record.made.what == "sign" for record in above.values())
        return event.old in above and bool(grads) and not signed

    def _judge(self, model: Model, *, final: bool) -> Iterator[Finding]:
        for key, tid in list(self._pending.items()):
            now, new = model.tensor(model.names.get(key, -1)), model.tensor(tid)
            if now is None or new is None:
                continue
            if now.is_leaf and now.requires_grad:
                self._mended.add(key)
                del self._pending[key]
            elif now is new and not (final and key in self._mended):
                del self._pending[key]
                yield self._told(model, new, key[1], None)

    def _told(self, model: Model, new: TensorRecord, variable: str, symptom: int | None) -> Finding:
        made = made_at(model, new)
        if new.requires_grad:
            now = f"is a non-leaf: the next backward will not fill `{variable}.grad`"
        else:
            now = "does not require grad: it will not be trained any more"
        what = "This line makes a new tensor"
        if made is not None and made.kind == "Call" and made.attribute in _OUT_OF_PLACE:
            what = f"`{made.attribute}` makes a new tensor (`{made.attribute}_` writes in place)"
        self._said[variable] = self.finding(
            f"{what}; `{variable}` no longer names the leaf. It {now}.",
            fix="" if made is None else fixes.in_place_update(made, variable, new.grad_enabled),
            variable=variable,
            cause=made,
            symptom=symptom,
            record=new,
        )
        return self._said[variable]

    def _none(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Explain ``w.grad.zero_()`` where ``w.grad`` is None."""
        place = model.place(event.site)
        if place is None or not place.owner.endswith(".grad"):
            return
        variable = place.owner.removesuffix(".grad")
        record = model.tensor(model.names.get((place.scope, variable), -1))
        if record is None:
            return
        if record.is_leaf and record.requires_grad:
            if not any(p.finished and not p.failed for p in model.passes):
                yield self.finding(
                    f"`{variable}.grad` is None until the first backward, and this line runs "
                    "before it.",
                    fix=f"if {variable}.grad is not None: {place.source}",
                    variable=variable,
                    cause=place,
                    record=record,
                    severity="error",
                )
            return
        history = model.history.get((place.scope, variable), [])
        earlier = [model.tensor(tid) for tid, _, _ in history[:-1]]
        if any(old is not None and old.is_leaf and old.requires_grad for old in earlier):
            yield self._told(model, record, variable, place.line)

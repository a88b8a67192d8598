"""Hooks that return a gradient that does not fit."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leafmagic.cell import Place
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.hooks import registered
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import TensorRecord, best_name

_CHANGED = re.compile(r"hook '([^']*)' has changed the (size|type) of value")


@register
class HookReturns(Rule):
    """A hook returns a gradient that does not fit.

    What a tensor hook returns takes the gradient's place, so that it has to have its
    shape, dtype and device. A hook that only looks returns None.

    Failing cell::

        x = torch.ones(1, 3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: g[0])
        y.sum().backward()     # RuntimeError

    Fixed::

        x = torch.ones(1, 3, requires_grad=True)
        y = x * 2
        y.register_hook(lambda g: g * 0.5)
        y.sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
    """

    kind = "hook_surprise"
    code = "LM913"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Find the hook among those that the pass goes through."""
        changed = _CHANGED.search(event.text)
        other = "but hook returned" in event.text
        if event.op not in ("backward", "grad") or (changed is None and not other):
            return
        name = changed[1] if changed is not None else ""
        found = list(_hooks_behind(model, event.inputs, name))
        if not found:
            return
        record, place = found[0]
        variable = place.owner or best_name(record)
        lines = sorted({p.line for _, p in found[1:]} - {place.line})
        also = f" (or the one of line {', '.join(map(str, lines[:3]))})" if lines else ""
        if other:
            kind = event.text.rpartition("hook returned ")[2]
            what = f"returned {kind}, which is no tensor"
        elif changed is not None and changed[2] == "type":
            what = "returned a gradient of another dtype or device"
        else:
            what = "returned a gradient of another shape"
        yield self.finding(
            f"the hook on `{variable}`{also} {what}; `{variable}` has shape "
            f"{list(record.seen.shape)}, and its gradient, too.",
            fix="return a gradient like the one the hook is given, or None to leave it alone",
            variable=variable,
            cause=place,
            symptom=model.line(event.site),
            record=record,
        )


def _hooks_behind(
    model: Model, roots: tuple[int, ...], name: str
) -> Iterator[tuple[TensorRecord, Place]]:
    """Yield the hooks of a name on tensors that a pass goes through, near the roots first."""
    hooked = [record for record in model.slots.records if record.hooked]
    behind = reach(model, roots)
    order = {node.nid: at for at, node in enumerate(behind.nodes)}
    order |= {-1 - leaf.tid: len(order) + at for at, leaf in enumerate(behind.leaves)}
    ranked = []
    for record in hooked:
        rank = order.get(record.nid if record.nid >= 0 else -1 - record.tid)
        for moment in record.hooked:
            place = registered(model, moment.site)
            if rank is None or place is None or not _may_be_called(place, name):
                continue
            ranked.append((rank, -moment.ordinal, record, place))
    for _, _, record, place in sorted(ranked, key=lambda r: r[:2]):
        yield record, place


def _may_be_called(place: Place, name: str) -> bool:
    if name in ("", "<unknown>"):
        return True
    if name == "<lambda>":
        # A lambda may have been given a name.
        return "lambda" in place.source or not re.search(r"\(\s*lambda", place.source)
    return bool(re.search(rf"\b{re.escape(name)}\b", place.source)) or "lambda" not in place.source

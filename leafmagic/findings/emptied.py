"""Code that goes on with a ``.grad`` that was cleared, and is None."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import Accessed
from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.guards import call_before
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.records import TensorRecord


@register
class GradIsNone(Rule):
    """Code that goes on with a ``.grad`` that was cleared.

    ``zero_grad()`` does not fill gradients with zeros: since torch 2.0 it sets them to None,
    which is no tensor. Read a gradient before it is cleared; or ask for zeros.

    Failing cell::

        m = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(m.parameters(), lr=0.1)
        m(torch.ones(1, 2)).sum().backward()
        opt.zero_grad()
        print(m.weight.grad[0])             # TypeError: None is not subscriptable

    Fixed::

        m = torch.nn.Linear(2, 1)
        opt = torch.optim.SGD(m.parameters(), lr=0.1)
        m(torch.ones(1, 2)).sum().backward()
        print(m.weight.grad[0])
        opt.zero_grad()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    """

    kind = "grad_accumulation"
    code = "LM504"
    severity = "error"
    events = (Accessed, Raised)

    def __init__(self) -> None:
        self._read: tuple[int, int] = (0, -1)
        """Where a `.grad` was None last, and of which tensor."""

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Remember the reads that gave None; explain what raised on one."""
        if isinstance(event, Accessed):
            if event.what == "grad" and event.value == -1 and event.is_leaf:
                self._read = event.site, event.tid
            return
        if "NoneType" not in event.text:
            return
        place, read = model.place(event.site), model.place(self._read[0])
        record = model.tensors.get(self._read[1])
        if place is None or read is None or record is None or not record.requires_grad:
            return
        if not _is_about(place, read):
            return
        cleared = _cleared_at(model, record, place)
        if cleared is not None:
            yield self._told(record, place, read, cleared)

    def _told(self, record: TensorRecord, place: Place, read: Place, cleared: Place) -> Finding:
        grad = f"{read.owner}.grad"
        where = f"line {cleared.line}"
        if cleared.label != place.label:
            where = f"{cleared.label}, {where}"
        adds = place.kind == "AugAssign" and place.targets == (grad,) and "+=" in place.source
        edits: Any = ()
        if adds:
            value = place.operands[-1]
            simple = isinstance(_parsed(value), ast.Call | ast.Name | ast.Attribute)
            value = value if simple else f"({value})"
            fix = f"{grad} = {value} if {grad} is None else {grad} + {value}"
            edits = fixes.replace_statement(place, fix)
        elif cleared.source.endswith(".zero_grad()"):
            zeros = f"{cleared.source[:-1]}set_to_none=False)"
            fix = f"read `{grad}` before {where}; or, for zeros instead of None: {zeros}"
        else:
            fix = f"read `{grad}` before {where}"
        by = cleared.source if len(cleared.source) < 40 else "zero_grad()"
        what = f"`{by}` ({where}) sets gradients to None, not to zeros"
        if "zero_grad" not in by:
            what = f"{where} set it to None, and no backward has filled it since"
        return self.finding(
            f"`{grad}` is None: {what}.",
            fix=fix,
            variable=read.owner,
            cause=cleared,
            symptom=place.line,
            record=record,
            edits=edits,
        )


def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _is_about(place: Place, read: Place) -> bool:
    """Tell whether what raised went on with what was read."""
    if (place.filename, place.function) != (read.filename, read.function):
        return False
    if place.line <= read.line <= place.end_line:
        return True
    words = [word for word in read.targets if word.isidentifier()]
    return any(re.search(rf"\b{word}\b", place.source) for word in words)


def _cleared_at(model: Model, record: TensorRecord, place: Place) -> Place | None:
    """Return where the gradient of a leaf was cleared."""
    account = model.gradients.of(record.tid)
    if account is not None and account.passes:
        return None
    moment = record.cleared or (account.cleared if account is not None else None)
    if moment is not None:
        return model.place(moment.site)
    kept = model.session.gradients.get(record.tid)
    label, line, text = ("", None, "") if kept is None else kept.cleared or ("", None, "")
    if line is not None:
        call = text if text.endswith(".zero_grad()") else ""
        return Place("", label, "<module>", line, line, source=call, statement=text, text=text)
    if place.owner.endswith(".grad") or any(one.finished for one in model.passes):
        # `LeafRebound` says of ``p.grad.zero_()`` that no backward has run yet.
        return None
    # Where nothing is there to be cleared, torch's zero_grad does nothing that is seen.
    return call_before(place, "zero_grad")

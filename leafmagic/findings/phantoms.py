"""Views taken under ``no_grad`` that look like leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import Accessed, BackwardReturned
from leafmagic.findings import restructure
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.leaves import made_at
from leafmagic.model import Model
from leafmagic.records import NodeRecord, TensorRecord, best_name

_MOST = 2_000
_NEAR = 50


@register
class PhantomLeaf(Rule):
    """A loss was computed from a view that was taken under ``no_grad``.

    A view of a tensor that requires grad says so too, also when it is taken with grad
    mode off. Having no ``grad_fn`` it says that it is a leaf, but backward has no place
    to put its gradient: neither the view nor what it is a view of gets one, and nothing
    is raised.

    Failing cell::

        w = torch.nn.Parameter(torch.ones(4))
        with torch.no_grad():
            flat = w.view(2, 2)
        loss = (flat ** 2).sum()
        loss.backward()
        print(flat.grad, w.grad)       # None None

    Fixed::

        w = torch.nn.Parameter(torch.ones(4))
        flat = w.view(2, 2)
        loss = (flat ** 2).sum()
        loss.backward()
        print(w.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    kind = "grad_mode"
    code = "LM704"
    events = (BackwardReturned, Accessed)

    def __init__(self) -> None:
        self._told: dict[int, tuple[Finding, Place | None, str]] = {}

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look behind the roots of a pass that ended well; then at reads of ``.grad``."""
        if isinstance(event, Accessed):
            yield from self._read(event, model)
        elif not event.failed:
            roots = next((p.roots for p in reversed(model.passes) if p.ordinal == event.began), ())
            for record in _phantoms(model, roots):
                yield self._used(model, record, model.place(event.site))

    def _used(self, model: Model, record: TensorRecord, at: Place | None) -> Finding:
        base = model.tensor(record.seen.base)
        made = made_at(model, record)
        name = best_name(record) or (made.source if made is not None else "this view")
        whole = best_name(base) if base is not None else ""
        whole = whole or "the tensor it is a view of"
        told = self.finding(
            f"`{name}` is a view of `{whole}` taken with grad mode off: it says that it is a "
            f"leaf, but backward reaches neither `{name}` nor `{whole}`.",
            fix=_fix(made, name),
            edits=() if made is None else restructure.outside(made),
            variable=name,
            cause=made or at,
            symptom=None if at is None else at.line,
            record=record,
        )
        self._told[record.tid] = told, made, best_name(record)
        self._told[record.seen.base] = told, None, ""
        return told

    def _read(self, event: Accessed, model: Model) -> Iterator[Finding]:
        """Move the symptom down to where the gradient is missed."""
        known = self._told.pop(event.tid, None) if event.what == "grad" else None
        place = model.place(event.site)
        if known is None or not event.by_user or event.value != -1 or place is None:
            return
        told, made, name = known
        if made is not None and name:
            kept = dataclasses.replace(told, edits=restructure.outside(made, name))
            for tid, (other, there, whose) in list(self._told.items()):
                if other is told:  # That of the base, which may be read next.
                    self._told[tid] = kept, there, whose
            told = kept
        if told.symptom_line is not None and place.label == told.cell:
            yield _noticed_at(told, place.line)


def _noticed_at(told: Finding, line: int) -> Finding:
    line = max(line, told.symptom_line or 0)
    return dataclasses.replace(told, symptom_line=line, count=0)


def _fix(made: Place | None, name: str) -> str:
    if made is None or not made.source:
        return f"take the view `{name}` with grad mode on"
    call = made.source
    if made.targets and (made.unpacked or made.targets == (name,)):
        call = f"{', '.join(made.targets)} = {call}"
    return f"{call}  # outside of torch.no_grad()"


def bases_of_phantoms(model: Model, roots: tuple[int, ...]) -> set[int]:
    """Return the tensors that a loss was computed from through phantom leaves."""
    return {view.seen.base for view in _phantoms(model, roots)}


def _phantoms(model: Model, roots: tuple[int, ...]) -> Iterator[TensorRecord]:
    """Yield the phantom leaves that a loss was computed from, with grad mode on."""
    queue = list(roots)
    seen = set(queue)
    for tid in queue:
        child = model.tensor(tid)
        if child is None or not child.requires_grad or child.is_leaf or len(queue) > _MOST:
            continue
        for parent in child.inputs:
            if parent in seen:
                continue
            seen.add(parent)
            queue.append(parent)
            record = model.tensor(parent)
            if record is not None and _is_phantom(model, record, child):
                yield record


def _is_phantom(model: Model, record: TensorRecord, child: TensorRecord) -> bool:
    # Setting the flag, even to what it is, makes a leaf of it.
    if not record.is_leaf or record.flagged or not record.seen.requires_grad:
        return False
    base = model.tensor(record.seen.base)
    if base is None or not base.requires_grad or not record.requires_grad:
        return False
    # What the forward of a custom function returns was seen there, with grad mode off, and
    # has a node by now: that of the function.
    return not _near_custom(model.nodes.get(child.nid))


def _near_custom(start: NodeRecord | None) -> bool:
    """Tell whether a custom function is not far behind a node."""
    queue = [start] if start is not None else []
    seen = {node.nid for node in queue}
    for node in queue:
        # torch numbers its own nodes: MulBackward0.
        if node.seen.name.endswith("Backward"):
            return True
        for to, _, _ in node.links:
            if isinstance(to, NodeRecord) and to.nid not in seen and len(queue) < _NEAR:
                seen.add(to.nid)
                queue.append(to)
    return False

"""Reading the ``.grad`` of a tensor that does not have one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import Accessed, OpCalled
from leafmagic.findings import fixes, keeping, rewrites
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.leaves import classify_read, leaves_behind, made_at, unfilled_read
from leafmagic.findings.updating import ItemUpdates
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name


def _can_be_spelt(leaf: TensorRecord, read: Place) -> bool:
    """Tell whether a leaf's name is its own still, and no local of a function elsewhere."""
    current = any(name.current and name.scope in ("", read.scope) for name in leaf.names)
    return bool(leaf.path) or current or not leaf.names


def _own_name(leaf: TensorRecord, taken: str) -> str:
    """Choose what to call a leaf, other than by the variable of a loop."""
    others = [name for name in leaf.names if name.name != taken]
    if best_name(leaf) != taken or not others:
        return "" if best_name(leaf) == taken else best_name(leaf)
    return ([name for name in others if name.current] or others)[-1].name


def _function(place: Place) -> str:
    name = place.function.rpartition(".")[2]
    return "the lambda" if name == "<lambda>" else f"`{name}`"


@register
class NonleafGradRead(Rule):
    """Reading ``.grad`` of a tensor that was computed.

    Backward fills ``.grad`` for leaves only. A computed tensor keeps its gradient if
    ``retain_grad()`` was called on it before backward; otherwise the read gives None,
    and code that goes on with None fails later or learns nothing.

    Failing cell::

        w = torch.ones(3, requires_grad=True)
        h = w * 2
        h.sum().backward()
        print(h.grad)          # None

    Fixed::

        w = torch.ones(3, requires_grad=True)
        h = w * 2
        h.retain_grad()
        h.sum().backward()
        print(h.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
    """

    kind = "nonleaf_grad_read"
    code = "LM101"
    events = (Accessed,)
    ops = ItemUpdates.ops

    def __init__(self) -> None:
        self._updates = ItemUpdates()

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at reads, and at values put into ``.grad`` by hand."""
        if isinstance(event, OpCalled):
            self._updates.note(event, model)
            return
        if event.what == "set_grad":
            yield from self._set_by_hand(event, model)
            return
        if event.what == "grad" and event.by_user and event.retains_grad:
            yield from self._kept_newer(event, model)
            return
        read = unfilled_read(event, model)
        if read is None:
            return
        record, place, variable = read
        kind, _ = classify_read(model, record, place, variable)
        if kind != self.kind or event.tid in self._updates.targets:
            return
        root = any(record.tid in p.roots for p in model.passes)
        behind = leaves_behind(model, record)
        loop = keeping.loop_of(place, variable)
        taken = "" if loop is None else variable
        leaves = [_own_name(leaf, taken) for leaf in behind if _can_be_spelt(leaf, place)]
        named = [f"`{name}`" for name in dict.fromkeys(leaves) if name][:3]
        what = "the root of the graph" if root else "computed, not a leaf"
        where = (
            f" Gradients are kept for the leaves behind it: {', '.join(named)}." if named else ""
        )
        made = made_at(model, record)
        called, fix, edits = keeping.way(model, record, variable, place)
        where_read = _function(place) if loop is None else f"line {place.line}"
        alias = "" if called == variable else f", `{variable}` in {where_read},"
        yield self.finding(
            f"`{called}`{alias} is {what}, so backward does not fill "
            f"`{fixes.chained(called, 'grad')}`.{where}",
            fix=fix,
            edits=edits,
            variable=called,
            cause=made or place,
            symptom=place.line,
            record=record,
        )

    def _set_by_hand(self, event: Accessed, model: Model) -> Iterator[Finding]:
        record, place = model.tensor(event.tid), model.place(event.site)
        if record is None or place is None or event.is_leaf or not event.requires_grad:
            return
        if event.value == -1 or event.retains_grad:
            return
        variable = place.owner or best_name(record)
        yield self.finding(
            f"`{variable}` is not a leaf: backward will not add to the value assigned to "
            f"`{fixes.chained(variable, 'grad')}`, and torch no longer warns when it is read.",
            fix=f"{variable}.retain_grad()  # instead of this line"
            if fixes.is_kept(variable)
            else fixes.retained_under_a_name(variable),
            edits=rewrites.retained_instead(model, place, variable, record.made.ordinal),
            variable=variable,
            cause=place,
            record=record,
        )

    def _kept_newer(self, event: Accessed, model: Model) -> Iterator[Finding]:
        record, place = model.tensor(event.tid), model.place(event.site)
        if record is None or place is None or record.retained is None or event.value == -1:
            return
        if any(hook.ordinal < record.retained.ordinal for hook in record.hooked):
            return
        late = [w for w in record.writes if w.ordinal > record.retained.ordinal]
        if not late or any(hook for hook in record.hooked if hook.ordinal < late[0].ordinal):
            return
        variable = place.owner or best_name(record)
        yield self.finding(
            f"`{variable}.grad` is the gradient of `{variable}` after the in-place write, "
            "not of the value it had when retain_grad() was called.",
            fix=f"give the new value a name of its own, and retain both: "
            f"new = {variable}.clone(); new.retain_grad()",
            variable=variable,
            cause=model.place(late[0].site),
            symptom=place.line,
            record=record,
        )

"""What a notebook's cells find changed by those that ran before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafmagic.accounts import Account
from leafmagic.cell import Place
from leafmagic.events import OpCalled, Written
from leafmagic.findings import fixes
from leafmagic.findings.accumulation import named
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.reruns import is_left_over
from leafmagic.looks import Finished
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name
from leafmagic.session import Snapshot
from leafmagic.snapshots import changed_since, snapshot_of

_MOST_CLEARED = 3


@register
class RerunAddsUp(Rule):
    """A cell with backward ran again, and added to the gradient of its earlier run.

    backward adds to ``.grad``, and a leaf that another cell made keeps its gradient. Where
    nothing clears it, a cell that is run twice shows twice the gradient.

    Failing cell::

        import torch
        b = torch.ones(1, requires_grad=True)
        # %%
        loss = (b * 3).sum()
        loss.backward()
        print(b.grad)                       # 3, then 6
        # %% rerun 2

    Fixed::

        import torch
        b = torch.ones(1, requires_grad=True)
        # %%
        b.grad = None
        loss = (b * 3).sum()
        loss.backward()
        print(b.grad)
        # %% rerun 2

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    kind = "notebook_stale_state"
    code = "LM505"
    events = (Finished,)

    def check(self, _event: Finished, model: Model) -> Iterator[Finding]:
        """Look for leaves whose gradient has passes of two runs of the same cell."""
        by_site: dict[int, list[Account]] = {}
        for account in model.gradients:
            if account.last is not None and self._adds_up(model, account):
                by_site.setdefault(account.last.site, []).append(account)
        for site, accounts in by_site.items():
            place = model.place(site)
            if place is not None and not self._is_lost(model, accounts):
                yield self._told(model, place, accounts)

    def _adds_up(self, model: Model, account: Account) -> bool:
        kept = account.kept
        if kept is None or account.last is None or not kept.passes:
            return False
        if account.steps or account.owned or account.handled:
            return False
        place = model.place(account.last.site)
        alive = [tid for tid in account.tids if tid in model.tensors]
        return (
            place is not None
            and place.line == kept.line
            and model.session.is_rerun(model.run, kept.run)
            and any(model.tensors[tid].tid == tid for tid in alive)
        )

    def _is_lost(self, model: Model, accounts: list[Account]) -> bool:
        """Tell whether no name is left to clear a gradient by, since an update took it."""
        tids = {tid for account in accounts for tid in account.tids}
        return not named(model, tids)[0] and is_left_over(model)

    def _told(self, model: Model, place: Place, accounts: list[Account]) -> Finding:
        tids = {tid for account in accounts for tid in account.tids}
        name, others = named(model, tids)
        record = model.tensors.get(min(tids))
        more = f" (and {others} more)" if others and name else ""
        if record is not None and record.registered and "." in name:
            fix = f"{name.partition('.')[0]}.zero_grad()"
        else:
            names = [best_name(r) for r in map(model.tensors.get, sorted(tids)) if r is not None]
            names = names if all(names) and len(names) <= _MOST_CLEARED else [name] * bool(name)
            fix = "; ".join(f"{one}.grad = None" for one in dict.fromkeys(names))
        grad = f"`{name}.grad`" if name else "A gradient"
        passes = max(account.passes for account in accounts)
        return self.finding(
            f"{grad}{more} holds {passes} backward passes: this cell ran before, and nothing "
            "cleared the gradient since.",
            fix=f"{fix}  # at the top of the cell" if fix else "clear .grad at the top of the cell",
            variable=name,
            cause=place,
            record=record,
            edits=fixes.insert_before(place, fix) if fix and not place.scope else (),
        )


@register
class SnapshotShares(Rule):
    """A ``state_dict()`` kept to go back to, which changes with the parameters.

    ``state_dict()`` copies nothing: its tensors share the parameters' memory. After a step
    the snapshot holds the new values, and to load it changes nothing.

    Failing cell::

        net = torch.nn.Linear(1, 1, bias=False)
        opt = torch.optim.SGD(net.parameters(), lr=1.)
        start = net.state_dict()
        net(torch.ones(1, 1)).sum().backward()
        opt.step()
        net.load_state_dict(start)          # nothing is restored

    Fixed::

        net = torch.nn.Linear(1, 1, bias=False)
        opt = torch.optim.SGD(net.parameters(), lr=1.)
        start = {k: v.clone() for k, v in net.state_dict().items()}
        net(torch.ones(1, 1)).sum().backward()
        opt.step()
        net.load_state_dict(start)

    References
    ----------
    https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    """

    kind = "notebook_stale_state"
    code = "LM506"
    events = (Written,)
    ops = frozenset({"copy_"})

    def __init__(self) -> None:
        self._said: set[tuple[str, int, int]] = set()

    def check(self, event: OpCalled | Written, model: Model) -> Iterator[Finding]:
        """Look at a parameter that is overwritten with itself, by way of a snapshot."""
        target = event.wrote[0] if isinstance(event, OpCalled) and event.wrote else -1
        target = event.tid if isinstance(event, Written) else target
        if event.op != "copy_" or len(event.inputs) < 2 or event.inputs[0] != target:
            return
        tid = event.inputs[1]
        record = model.tensors.get(tid)
        shot = None if record is None else snapshot_of(model, record)
        since, before = 0, ""
        if shot is not None and record is not None:
            since = record.made.ordinal
        else:
            shot = model.session.snapshots.get(tid)
            before = "" if shot is None else shot.changed
        if shot is None or shot.of != target:
            return
        changed = changed_since(model, target, since, but=event.ordinal) or before
        key = (shot.label, shot.line, event.site)
        if changed and key not in self._said:
            self._said.add(key)
            yield self._told(model, event, shot, changed, record)

    def _told(
        self, model: Model, event: Any, shot: Snapshot, changed: str, record: TensorRecord | None
    ) -> Finding:
        load = model.place(event.site)
        here = f"Loading it in line {load.line}" if load is not None else "To load it"
        copied = f"{{k: v.clone() for k, v in {shot.call}.items()}}"
        cause: Place | None = None
        edits: Any = ()
        if shot.run == model.run and record is not None:
            cause = model.place(record.made.site)
            edits = () if cause is None else fixes.replace_expression(cause, copied)
        if cause is None:
            cause = Place("", shot.label, "<module>", shot.line, shot.line, text=shot.source)
        return self.finding(
            f"`{shot.name}` is no copy: state_dict() shares memory with the parameters, which "
            f"{changed} has changed. {here} restores nothing.",
            fix=f"{shot.name} = {copied}",
            variable=shot.name,
            cause=cause,
            symptom=None if load is None else load.line,
            record=model.tensors.get(shot.of),
            edits=edits,
        )

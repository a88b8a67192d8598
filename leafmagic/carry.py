"""What a trace leaves for the next one, and what is still true when that begins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from leafmagic.accounts import Account
from leafmagic.autograd import is_leaf
from leafmagic.fingerprints import MemoryWatch, is_there
from leafmagic.flow import flow_of
from leafmagic.ledger import REFS, Ledger
from leafmagic.lives import take_down
from leafmagic.model import Model
from leafmagic.records import Moment
from leafmagic.session import KeptGradient, Session
from leafmagic.snapshots import changed_since, snapshot_of

_MOST_MARKED = 5_000
"""So many nodes are looked at when a trace ends, for the next one to know them."""


def fetch(model: Model, session: Session, memory: MemoryWatch) -> None:
    """Give a model that begins what earlier traces left.

    What was done in between was not traced: a gradient that is another one now, or was
    written to, is not accounted for.
    """
    model.session = session
    unseen = session.bygone.unseen.values()
    memory.earlier = tuple([one.write for one in unseen if is_there(one.write)])
    session.note_mode(model.run, on=torch.is_grad_enabled())
    if not session.filled:
        return
    for ref in list(REFS.values()):
        if ref.tid in session.filled:
            tensor = ref()
            if tensor is None or _grad_of(tensor) != session.filled[ref.tid]:
                del session.filled[ref.tid]
                session.gradients.pop(ref.tid, None)
    model.gradients.shares.kept = dict(session.gradients)


def leave(model: Model, ledger: Ledger, memory: MemoryWatch, *, on: bool) -> None:
    """Tell the session what a trace that ends knows of what lives on.

    Parameters
    ----------
    on : bool
        Whether the traced code left grad mode on.
    """
    forget_dead()
    live = dict(ledger.live())
    session = model.session
    session.leave_mode(model.run, on=on)
    left = _MOST_MARKED
    for tensor in live.values():
        left -= ledger.mark_behind(tensor, left) if left > 0 else 0
    take_down(model, live)
    places = [(model.place(write.site), write) for write in memory.noted()]
    session.bygone.learn_unseen(model.run, [one for one in places if one[0] is not None])
    for account in model.gradients:
        kept = _kept(model, account)
        for tid in account.tids if kept is not None else ():
            record = model.tensors.get(tid)
            if kept is not None and tid in live and record is not None and record.tid == tid:
                session.gradients[tid] = kept
                session.filled[tid] = _grad_of(live[tid], ledger)
    _take_snapshots(model, live)
    flow = flow_of(model)
    if flow is not None:
        session.learn_flow(flow)
    session.keep_only([ref.tid for ref in list(REFS.values())])


def _grad_of(tensor: Any, ledger: Ledger | None = None) -> tuple[int, int]:
    """Return the number of a leaf's gradient and its version; -1 where there is none."""
    # torch forbids to look at some views.
    grad = tensor.grad if is_leaf(tensor) else None
    if grad is None:
        return -1, 0
    if ledger is not None:
        tid = ledger.tensor(grad)
        ledger.take()
        return tid, grad._version
    ref = REFS.get(id(grad))
    return (ref.tid if ref is not None and ref() is grad else -2), grad._version


def _kept(model: Model, account: Account) -> KeptGradient | None:
    """Describe the gradients of an account; None where this trace has nothing to tell."""
    before, last, cleared = account.kept, account.last, account.cleared
    if last is None and cleared is None and account.stepped is None:
        return None
    state = account.passes, account.steps, account.waiting, account.owned, account.handled
    if last is None and before is not None:
        return KeptGradient(before.run, *state, before.label, before.line, before.source)
    at = None if cleared is None else _where(model, cleared)
    where = ("", None, "") if last is None else _where(model, last)
    return KeptGradient(model.run, *state, *where, at)


def _where(model: Model, moment: Moment) -> tuple[str, int | None, str]:
    place = model.place(moment.site)
    return ("", None, "") if place is None else (place.label, place.line, place.text.strip())


def _take_snapshots(model: Model, live: Mapping[int, Any]) -> None:
    known = model.session.snapshots
    for tid, shot in known.items():
        changed = changed_since(model, shot.of, 0)
        if changed and shot.run != model.run:
            known[tid] = shot._replace(changed=changed)
    for tid in live:
        record = model.tensors.get(tid)
        new = None if record is None else snapshot_of(model, record)
        if new is not None:
            known[tid] = new


def forget_dead() -> int:
    """Drop the numbers of tensors that are gone; return how many were dropped."""
    dead = [key for key, ref in list(REFS.items()) if ref() is None]
    for key in dead:
        ref = REFS.get(key)
        if ref is not None and ref() is None:
            del REFS[key]
    return len(dead)

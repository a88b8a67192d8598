"""Following gradients: what each event does to the accounts of the leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from leafmagic.accounts import Account, PassNote, Shares, Usage
from leafmagic.breaks import GradientsMeasured
from leafmagic.cell import Place
from leafmagic.events import UNKNOWN, Accessed, Cleared, PassRepeated, Stepped
from leafmagic.folding import Slots
from leafmagic.reach import reach
from leafmagic.records import Moment, Pass, TensorRecord

MOST_PENDING = 64
_ZEROING = frozenset({"zero_", "fill_", "copy_", "_foreach_zero_", "_foreach_copy_"})
_UPDATES = frozenset({"sub_", "add_", "addcmul_", "addcdiv_", "_foreach_sub_", "_foreach_add_"})
_ZEROS = frozenset({"zeros", "zeros_like"})
_AT_ONCE = 2
"""So many events lie between the read and the write of ``w.grad.zero_()``."""


@dataclass(slots=True, eq=False)
class _Known:
    """The leaves of the passes at one place, from one slot."""

    moved: int
    records: tuple[TensorRecord, ...]
    tids: tuple[int, ...]
    varied: bool = False
    watched: bool = False
    parameters: bool = False

    def lasting(self) -> tuple[int, ...]:
        """Return the leaves that are still the same, and not made anew in each step."""
        if self.parameters:
            # What makes parameters anew is no op that repeats.
            return self.tids
        now = tuple([record.tid for record in self.records])
        return tuple([tid for tid, new in zip(self.tids, now, strict=True) if tid == new])

    def differs(self, leaves: tuple[TensorRecord, ...]) -> bool:
        """Tell whether another pass gets to other leaves, those aside that are made anew."""
        renewed = [r for r, tid in zip(self.records, self.tids, strict=True) if r.tid != tid]
        if any(record.seen.parameter for record in renewed):
            return True
        anew = {record.index for record in renewed}
        before = {record.index for record in self.records} - anew
        return before != {record.index for record in leaves} - anew


class Gradients:
    """Follows the gradients of all leaves.

    Parameters
    ----------
    slots : Slots
        The records of the trace.
    grad_values : dict
        tid of a value read from ``.grad`` to the tid of its tensor.
    place : callable
        From a site to its `Place`.

    Attributes
    ----------
    shares : Shares
        The accounts.
    usage : dict
        By the site of a pass.
    mixed, empty : list of Account
        What the newest step shows: gradients used for the second time, with more added to
        them; and, where the whole step saw no gradient, those that were cleared before it.
    at : int
        Ordinal of that step.
    """

    def __init__(
        self,
        slots: Slots,
        grad_values: dict[int, int],
        place: Callable[[int], Place | None],
    ) -> None:
        self.shares = Shares(slots.tensors)
        self.usage: dict[int, Usage] = {}
        self.mixed: list[Account] = []
        self.empty: list[Account] = []
        self.at = 0
        self._slots = slots
        self._grad_values = grad_values
        self._place = place
        self._known: dict[tuple[int, tuple[int, ...]], _Known] = {}
        self._hooked = False
        self._judged: list[PassNote] = []
        self._seen: tuple[int, tuple[int, ...]] = (-1, ())
        self._read: tuple[int, int, list[PassNote]] = (0, -1, [])

    def __iter__(self) -> Iterator[Account]:
        """Go through all accounts."""
        return iter(self.shares)

    def of(self, tid: int) -> Account | None:
        """Return the account of a leaf, if it has one."""
        return self.shares.get(tid)

    # Passes ------------------------------------------------------------------------

    def passed(self, done: Pass) -> None:
        """Take in a backward pass that was recorded in full."""
        if done.what != "backward" or done.failed:
            return
        found = reach(self._slots, done.roots)
        leaves = found.leaves
        if done.inputs:
            leaves = tuple([leaf for leaf in leaves if leaf.tid in done.inputs])
        watched = any("BackwardHook" in node.seen.name for node in found.nodes)
        known = self._learn(done.site, done.roots, leaves, watched)
        self._add(done.ordinal, done.site, known.lasting(), watched)

    def repeated(self, event: PassRepeated) -> None:
        """Take in a pass that ran again; what it gets to is known, or not known any more."""
        if event.what != "backward":
            return
        roots = [self._slots.at(*place) for place in event.places]
        if not roots or None in roots:
            self._fall_back(event)
            return
        key = (event.site, tuple([root.index for root in roots if root is not None]))
        known = self._known.get(key)
        if known is not None and known.moved != self._slots.moved:
            tids = tuple([root.tid for root in roots if root is not None])
            found = reach(self._slots, tids)
            known = self._learn(event.site, tids, found.leaves, known.watched)
        if known is None or known.varied:
            # The steps in between are not known one by one.
            self._fall_back(event, known)
        else:
            tids = known.lasting()
            for record in known.records if len(tids) < len(known.tids) else ():
                if record.tid not in tids and (account := self.shares.get(record.tid)):
                    account.blank()
            self._add(event.began, event.site, tids, known.watched)

    def _fall_back(self, event: PassRepeated, known: _Known | None = None) -> None:
        """Take in a pass that may have got to other leaves than the one before."""
        began, tids = self._seen
        if began != event.began:
            for account in self.shares.every if known is None else self.shares.of(known.tids):
                account.blank()
            return
        # It was measured. Of leaves that are made anew in each step none is followed.
        tids = tuple([tid for tid in tids if self._is_followed(tid)])
        watched = any(one.watched for (site, _), one in self._known.items() if site == event.site)
        self._add(event.began, event.site, tids, watched)

    def _is_followed(self, tid: int) -> bool:
        record = self._slots.tensors.get(tid)
        return record is not None and (record.seen.parameter or self.shares.get(tid) is not None)

    def measured(self, event: GradientsMeasured) -> None:
        """Take in to which leaves a pass got that is about to be told."""
        self._seen = event.began, tuple([tid for tid, _ in event.leaves])

    def _learn(
        self, site: int, roots: tuple[int, ...], leaves: tuple[TensorRecord, ...], watched: bool
    ) -> _Known:
        tensors = self._slots.tensors
        key = (site, tuple([tensors[tid].index for tid in roots if tid in tensors]))
        old = self._known.get(key)
        tids = tuple([leaf.tid for leaf in leaves])
        varied = old is not None and (old.varied or old.differs(leaves))
        parameters = all(leaf.seen.parameter for leaf in leaves)
        known = _Known(self._slots.moved, leaves, tids, varied, watched, parameters)
        self._known[key] = known
        return known

    def _lose_sight(self) -> None:
        """Forget all, where something was done to gradients that are not known."""
        for account in self.shares.every:
            account.blank()

    def _mistrust(self) -> None:
        """Take back what was said of passes that repeat.

        A step used a gradient of which nothing is known: a pass that was taken for one of
        the step before went to other leaves.
        """
        for known in self._known.values():
            known.varied = True
        self.usage.clear()
        self._lose_sight()

    def _add(self, ordinal: int, site: int, tids: tuple[int, ...], watched: bool) -> None:
        note = PassNote(ordinal, site, used=watched or self._hooked)
        self._hooked = False
        for account in self.shares.of(tids):
            if account.touched > ordinal:
                # A hook took the step, in the midst of the pass.
                account.blank()
                continue
            moment = account.last = Moment(ordinal, site, "backward")
            account.first = account.first or moment
            account.passes += 1
            account.waiting += 1
            account.pending.append(note)
            if len(account.pending) > MOST_PENDING:
                del account.pending[0]

    # Steps ---------------------------------------------------------------------------

    def stepped(self, event: Stepped) -> None:
        """Take in a step of an optimizer."""
        moved = self.shares.of(event.tids)
        idle = self.shares.of(event.idle) if event.idle else []
        self.mixed, self.empty, self.at = [], [], event.ordinal
        if self._judged and len(self._words(event.site)) > 1:
            # A step with a closure: it looked at the gradients in between.
            for note in self._judged:
                self._use(note)
        if any(not (a.passes or a.handled or a.lost) for a in moved):
            self._mistrust()
        both = moved + idle
        if not any(account.passes or account.handled for account in both):
            self.empty = [a for a in both if a.lost]
        self._used(moved, Moment(event.ordinal, event.site, "step"), event.tids)
        for account in both:
            account.owned, account.lost, account.touched = True, 0, event.ordinal

    def _used(self, accounts: list[Account], moment: Moment, tids: tuple[int, ...]) -> None:
        """Note that a step used gradients."""
        counts: dict[int, int] = {}
        for account in accounts:
            if not account.waiting:
                continue
            if account.steps and not account.handled:
                self.mixed.append(account)
            here: dict[int, int] = {}
            for note in account.pending:
                self._use(note)
                here[note.site] = here.get(note.site, 0) + 1
            for site, number in here.items():
                counts[site] = max(counts.get(site, 0), number)
            account.pending.clear()
            account.steps += 1
            account.waiting, account.stepped = 0, moment
        for site, number in counts.items():
            usage = self.usage.setdefault(site, Usage())
            usage.stepped, usage.by, usage.tids = usage.stepped + 1, moment, tids
            usage.most = max(usage.most, number)

    def _use(self, note: PassNote) -> None:
        note.used = True
        if note.wasted is not None:
            wasted = self.usage[note.site].wasted
            wasted[note.wasted] = wasted.get(note.wasted, 1) - 1
            note.wasted = None

    # Clearing ------------------------------------------------------------------------

    def cleared(self, event: Cleared) -> None:
        """Take in a call of ``zero_grad``."""
        if event.owner == UNKNOWN:
            self._lose_sight()
            return
        accounts = self.shares.of(event.tids)
        for account in accounts:
            account.owned = True
        self._clear(accounts, Moment(event.ordinal, event.site, "zero_grad"))

    def _clear(self, accounts: list[Account], moment: Moment) -> None:
        gone: dict[int, PassNote] = {}
        for account in accounts:
            unused = [note for note in account.pending if not note.used]
            if unused:
                account.lost, account.lost_at = len(unused), moment
                account.lost_pass = account.last
                gone.update({id(note): note for note in unused})
            elif account.passes:
                account.lost = 0
            account.passes = account.steps = account.waiting = 0
            account.first = account.last = account.stepped = None
            account.handled, account.kept = False, None
            account.known, account.cleared = True, moment
            account.pending.clear()
        if gone:
            self._judge(list(gone.values()), moment)

    def _judge(self, gone: list[PassNote], moment: Moment) -> None:
        """Note the passes that came to nothing: no other leaf waits with their gradient."""
        held = {
            id(note)
            for account in self.shares.every
            if account.owned or not account.parameter
            for note in account.pending
        }
        lost = [note for note in gone if id(note) not in held]
        by_site: dict[int, int] = {}
        for note in lost:
            by_site[note.site] = by_site.get(note.site, 0) + 1
        for note in lost:
            note.wasted = (moment.site, by_site[note.site])
            wasted = self.usage.setdefault(note.site, Usage()).wasted
            wasted[note.wasted] = wasted.get(note.wasted, 0) + 1
        self._judged += lost
        del self._judged[:-MOST_PENDING]

    # What else is done to gradients and to leaves ------------------------------------

    def accessed(self, event: Accessed) -> None:
        """Take in a read or a write of ``.grad``, and what may look at gradients."""
        account = self.shares.get(event.tid)
        if event.what == "register_hook":
            self._hooked = True
        elif event.what == "grad" and event.value != -1:
            if account is None:
                # A gradient that was retained: some pass was for it.
                for other in self.shares.every:
                    for note in other.pending[-1:]:
                        self._use(note)
                return
            self._look_at(self.shares.alone(event.tid), event)
        elif event.what == "set_grad":
            account = self.shares.alone(event.tid)
            self._clear([account], Moment(event.ordinal, event.site, event.what))
            if event.value != -1:
                made = self._slots.tensors.get(event.value)
                account.handled = made is None or made.made.what not in _ZEROS
                account.lost = 0
        elif event.what == "set_data" and account is not None:
            self._changed(event.tid, "add_", event)

    def _look_at(self, account: Account, event: Accessed) -> None:
        """Note that somebody reads a gradient, who may use it."""
        place = self._place(event.site)
        if place is not None and place.compared_with_none:
            return
        account.read = event.ordinal
        fresh = [note for note in account.pending if not note.used]
        for note in fresh:
            self._use(note)
        self._read = event.ordinal, event.tid, fresh

    def wrote(self, tid: int, root: int, event: Any) -> None:
        """Take in a write to a tensor, `root` being the one whose memory it shares."""
        owner = self._grad_values.get(tid, self._grad_values.get(root, -1))
        if owner >= 0:
            if event.op in _ZEROING or self._is_times_zero(event):
                ordinal, read, notes = self._read
                if read == owner and event.ordinal - ordinal <= _AT_ONCE:
                    # It was only read to be cleared.
                    for note in notes:
                        note.used = False
                self._clear([self.shares.alone(owner)], Moment(event.ordinal, event.site, event.op))
            elif event.op == "mul_":
                self.shares.alone(owner).handled = True
        elif self.shares.get(root) is not None:
            self._changed(root, event.op, event)
        else:
            self._wrote_elsewhere(tid, event.op)

    def _wrote_elsewhere(self, tid: int, op: str) -> None:
        """Take in a write to what is neither a leaf nor known to be a gradient."""
        if op.startswith("_amp_"):
            # A scaler looks at the gradients, and may leave out the step.
            for account in self.shares.every:
                for note in account.pending:
                    self._use(note)
        elif op in _ZEROING:
            record = self._slots.tensors.get(tid)
            if record is None or (not record.made.site and not record.names and not record.path):
                # It may be a gradient that a library got hold of.
                self._lose_sight()

    def _changed(self, tid: int, op: str, event: Any) -> None:
        """Note that a leaf was changed by hand, or by a library."""
        account = self.shares.alone(tid)
        last = account.last.ordinal if account.last is not None else 0
        if op in _UPDATES and account.waiting and account.read > last:
            self.mixed, self.empty, self.at = [], [], event.ordinal
            self._used([account], Moment(event.ordinal, event.site, op), (tid,))
        else:
            for note in account.pending:
                self._use(note)

    def _is_times_zero(self, event: Any) -> bool:
        return event.op == "mul_" and self._words(event.site)[-1:] in (("0",), ("0.",), ("0.0",))

    def _words(self, site: int) -> tuple[str, ...]:
        """Return the operands that the source gives at a place, the receiver first."""
        place = self._place(site)
        return () if place is None else place.operands

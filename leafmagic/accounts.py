"""Accounts of gradients: for each leaf, what was added to ``.grad`` and what used it.

Leaves with the same history share one account, so that a step of a long loop costs a
look at a few accounts and not at every parameter.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

from leafmagic.records import Moment, TensorRecord
from leafmagic.session import KeptGradient

MOST_LEAVES = 5_000
MOST_TOKENS = 64


@dataclass(slots=True, eq=False)
class PassNote:
    """One backward pass, as long as a gradient that it added to waits to be used."""

    ordinal: int
    site: int
    used: bool = False
    wasted: tuple[int, int] | None = None
    """Where it was cleared away, and together with how many others."""


@dataclass(slots=True, eq=False)
class Account:
    """What happened to the gradients of leaves since they were last cleared.

    Attributes
    ----------
    tids : set of int
    passes, steps : int
        Backward passes that added to it, and steps that used it.
    waiting : int
        Passes since the last step.
    pending : list of PassNote
        Those passes; of very many the newest.
    lost : int
        Passes that the newest clearing took away before anything used them.
    lost_at, lost_pass : Moment or None
        That clearing, and the newest of those passes.
    owned : bool
        Whether an optimizer has them.
    parameter : bool
    handled : bool
        Whether the gradient was set or scaled by hand, so that its content is not known.
    read, touched : int
        Ordinals of the newest read, and of the newest step of an optimizer.
    kept : KeptGradient or None
        What earlier traces left; None once cleared.
    known : bool
        Whether the number of passes is.
    """

    tids: set[int]
    parameter: bool
    passes: int = 0
    steps: int = 0
    waiting: int = 0
    pending: list[PassNote] = field(default_factory=list)
    first: Moment | None = None
    last: Moment | None = None
    stepped: Moment | None = None
    cleared: Moment | None = None
    lost: int = 0
    lost_at: Moment | None = None
    lost_pass: Moment | None = None
    owned: bool = False
    handled: bool = False
    read: int = 0
    touched: int = 0
    kept: KeptGradient | None = None
    known: bool = True

    def part(self, tids: set[int]) -> Account:
        """Return an account of its own for some of the leaves."""
        self.tids -= tids
        other = copy.copy(self)
        other.tids, other.pending = tids, list(self.pending)
        return other

    def blank(self) -> None:
        """Forget what is no longer known."""
        self.passes = self.steps = self.waiting = self.lost = 0
        self.first = self.last = self.stepped = self.cleared = self.lost_at = self.lost_pass = None
        self.handled, self.kept = False, None
        self.known = False
        self.pending.clear()


@dataclass(slots=True, eq=False)
class Usage:
    """What became of the passes that ran at one place.

    Attributes
    ----------
    stepped : int
        Steps that used some.
    most : int
        The most that one step used.
    wasted : dict
        By the site of the clearing and the number of passes it took away, how often.
    by : Moment or None
        The newest of the steps.
    """

    stepped: int = 0
    most: int = 0
    wasted: dict[tuple[int, int], int] = field(default_factory=dict)
    by: Moment | None = None
    tids: tuple[int, ...] = ()


class Shares:
    """Which leaves have one account: those that always came together so far.

    Parameters
    ----------
    tensors : dict
        The records, by tid.

    Attributes
    ----------
    every : list of Account
    kept : dict
        By tid, what earlier traces left.
    """

    def __init__(self, tensors: dict[int, TensorRecord]) -> None:
        self._tensors = tensors
        self._of: dict[int, Account] = {}
        self._tokens: dict[tuple[int, ...], tuple[int, list[Account]]] = {}
        self._version = 0
        self.every: list[Account] = []
        self.kept: dict[int, KeptGradient] = {}

    def get(self, tid: int) -> Account | None:
        """Return the account of a leaf, if it has one."""
        return self._of.get(tid)

    def __iter__(self) -> Iterator[Account]:
        """Go through all accounts."""
        return iter(list(self.every))

    def alone(self, tid: int) -> Account:
        """Return an account that belongs to one leaf only."""
        return self.of((tid,))[0]

    def of(self, tids: tuple[int, ...]) -> list[Account]:
        """Return accounts that belong to these leaves and to no others."""
        known = self._tokens.get(tids)
        if known is not None and known[0] == self._version:
            return known[1]
        if len(self._of) > MOST_LEAVES:
            self._of.clear()
            self.every.clear()
        mine: dict[int, set[int]] = {}
        fresh: dict[tuple[bool, KeptGradient | None], set[int]] = {}
        for tid in tids:
            account = self._of.get(tid)
            if account is None:
                fresh.setdefault((self._is_parameter(tid), self.kept.get(tid)), set()).add(tid)
            else:
                mine.setdefault(id(account), set()).add(tid)
        found = [self._open(*key, leaves) for key, leaves in fresh.items()]
        for leaves in mine.values():
            account = self._of[next(iter(leaves))]
            if len(leaves) < len(account.tids):
                account = self._take(account.part(leaves))
            found.append(account)
        if len(self._tokens) > MOST_TOKENS:
            self._tokens.clear()
        self._tokens[tids] = (self._version, found)
        return found

    def _open(self, parameter: bool, kept: KeptGradient | None, leaves: set[int]) -> Account:
        account = Account(leaves, parameter, kept=kept)
        if kept is not None:
            account.passes, account.steps, account.waiting = kept.passes, kept.steps, kept.waiting
            account.owned, account.handled = kept.owned, kept.handled
        return self._take(account)

    def _take(self, account: Account) -> Account:
        self._version += 1
        self.every.append(account)
        self._of.update(dict.fromkeys(account.tids, account))
        return account

    def _is_parameter(self, tid: int) -> bool:
        record = self._tensors.get(tid)
        return record is not None and record.seen.parameter

"""Turns: which run of an op this is, in a step; and which earlier one it takes the place of.

A step ends with a backward pass. A loop without one would be a single endless step, and
an op in it would have one turn more in each round. So a turn whose outcome is gone, the
graph behind it too, is given to the next run.
"""

from __future__ import annotations

from typing import Any

from leafmagic.log import Repeat
from leafmagic.marks import alive

Outcome = tuple[tuple[Any, Any], ...]
"""Of each tensor that an op made: a weak reference to it, and the mark of its node."""
Key = tuple[int, ...]
_UNKNOWN: Outcome = ((alive, alive),)
_MOST_TRIES = 8
_MOST_LAYERS = 256
"""Where there are more turns than that, layers are made anew, too."""


class Turns:
    """How often an op ran at a place in the current step, and how it turned out before.

    Attributes
    ----------
    plain : list of Repeat or None
        Per turn what to compare with, if the output was one new tensor; else None.
    outcomes : dict
        Per turn what it made, if it was something else.
    keys : dict
        Per turn what the next run must have in common with it.
    most : int
        The greatest number of turns so far.
    folded : tuple of (first, length, size) or None
        Set where rounds of a loop were found to follow one another, until somebody reads
        it: of so many turns, those from the first one on repeat after each `size`.
    """

    __slots__ = (
        "_before",
        "_cursor",
        "_first",
        "_late",
        "_ring",
        "folded",
        "keys",
        "most",
        "outcomes",
        "plain",
        "step",
        "turn",
    )

    def __init__(self) -> None:
        self.step = -1
        self.turn = 0
        self.plain: list[Repeat | None] = []
        self.keys: dict[int, Key] = {}
        self.most = 0
        self.outcomes: dict[int, Outcome] = {}
        self.folded: tuple[int, int, int] | None = None
        self._first = -1
        """The first turn that is new in this step. Of those before it is not known when
        their nodes are gone."""
        self._ring = False
        """Whether turns from the first on are given to the rounds that follow."""
        self._late = False
        """Whether a round is still alive while the next one runs: its name is bound anew
        only then. The round before it is looked at."""
        self._before: dict[int, Outcome] = {}
        self._cursor = 0

    def restart(self, step: int) -> int:
        """Begin a step; return its first turn."""
        self.step, self.turn = step, 0
        if self._ring:
            del self.plain[self._first :]
            self._ring = False
        self._first = -1
        return 0

    def next_turn(self, key: Key) -> int:
        """Return which run of this step comes now, where it is none of the known ones.

        Parameters
        ----------
        key : tuple of int
            What runs have in common that may take one another's place: whether there is a
            gradient, and the numbers of the parameters. What one layer made is not given to
            another.
        """
        turn = self.turn
        if self._first < 0 or self._first == turn:
            self._first = turn
        elif not self._ring and self._fits(self._first, key):
            self._begin_ring(key)
            self._cursor = self._first
        return self._given(key) if self._ring else turn

    def made(self, turn: int, key: Key, repeat: Repeat | None, outcome: Outcome) -> None:
        """Note what an op made that did not do the same as before."""
        if turn == len(self.plain):
            self.plain.append(repeat)
        else:
            self.plain[turn] = repeat
        if repeat is None:
            self.outcomes[turn] = outcome
        self.keys[turn] = key
        self.turn = max(self.turn, turn + 1)
        self.most = max(self.most, self.turn)

    def _fits(self, turn: int, key: Key) -> bool:
        """Tell whether a turn is free, and is one of the same layer."""
        known = self.keys[turn] == key or len(self.plain) - self._first > _MOST_LAYERS
        return known and self._is_gone(self._outcome(turn))

    def _outcome(self, turn: int) -> Outcome:
        repeat = self.plain[turn]
        return self.outcomes.get(turn, _UNKNOWN) if repeat is None else ((repeat.ref, repeat.mark),)

    @staticmethod
    def _is_gone(outcome: Outcome) -> bool:
        return all(ref() is None and mark() is None for ref, mark in outcome)

    def _begin_ring(self, key: Key) -> None:
        """Let the newest round stand for all before it; the next one will be its like."""
        plain, first = self.plain, self._first
        length = len(plain)
        start = first
        while start < length and self._is_gone(self._outcome(start)):
            start += 1
        self._late = start < length
        if not self._late:
            start = first
        while self.keys[start] != key and start > first:
            start -= 1
        for turn, old in enumerate(range(start, length), first):
            repeat, self.outcomes[turn] = plain[old], self._outcome(old)
            self.keys[turn] = self.keys[old]
            if repeat is not None:
                repeat.place = (*repeat.place[:3], turn)
        del plain[first:start]
        self._before.clear()
        self._ring, self.turn = True, len(plain)
        if start > first:
            self.folded = first, length, length - start

    def _given(self, key: Key) -> int:
        """Return a turn whose outcome is gone, or else a new one."""
        first, size = self._first, len(self.plain)
        for ahead in range(min(size - first, _MOST_TRIES)):
            turn = first + (self._cursor - first + ahead) % (size - first)
            outcome = self._outcome(turn)
            gone = self._is_gone(self._before.get(turn, ()) if self._late else outcome)
            if gone and (self.keys[turn] == key or size - first > _MOST_LAYERS):
                if self._late:
                    self._before[turn] = outcome
                self._cursor = turn + 1
                return turn
        return self.turn

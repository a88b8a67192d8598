"""Looking for gradients that the backward of a custom function keeps back.

For an input that requires grad it may return None. torch takes that for zero, and says
nothing. Hooks on the custom functions of one pass see it; they keep nothing but numbers,
and are gone when the pass is over.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from torch.autograd.function import BackwardCFunction

from leafmagic.behind import Behind
from leafmagic.ledger import Ledger

_MOST_TOLD = 3


class Kept(NamedTuple):
    """A gradient that was kept back; see `leafmagic.breaks.GradientWithheld`."""

    nid: int
    name: str
    position: int
    leaves: tuple[int, ...]


class FunctionWatch:
    """Watches the custom functions behind the roots of one pass.

    Parameters
    ----------
    ledger : Ledger
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._handles: list[Any] = []
        self._none: dict[tuple[int, int], bool] = {}
        """By node and input, whether it never got a gradient when its node had one."""
        self._take(None)

    def begin(self, behind: Behind) -> None:
        """Put hooks on the custom functions; on none where the graph is too large."""
        if not behind.whole:
            return
        custom = [i for i, node in enumerate(behind.nodes) if isinstance(node, BackwardCFunction)]
        if not custom:
            return
        try:
            self._take(behind)
            for index in custom:
                self._handles.append(self._nodes[index].register_hook(partial(self._passed, index)))
        except BaseException:
            self._drop()
            raise

    def _take(self, behind: Behind | None) -> None:
        """Look at what lies behind the roots of a pass, or at nothing."""
        self._nodes = [] if behind is None else behind.nodes
        self._children = [] if behind is None else behind.children
        parents = [] if behind is None else behind.parents
        self._leaves = {} if behind is None else behind.leaves
        self._roots = [index for index, (parent, _) in enumerate(parents) if parent < 0]

    def _passed(self, index: int, going: Any, coming: Any) -> None:
        """Look at which inputs got a gradient."""
        if any(grad is None for grad in coming):
            return  # What belongs to an output that is not used has no gradient.
        for position, child in enumerate(self._children[index][: len(going)]):
            if child >= 0:
                key = index, position
                self._none[key] = going[position] is None and self._none.get(key, True)

    def end(self, *, failed: bool) -> list[Kept]:
        """Take the hooks away; return what was kept back of leaves that got nothing else."""
        try:
            cut = {key for key, none in self._none.items() if none}
            if failed or not cut:
                return []
            given = self._reached(self._roots, cut)
            found: list[Kept] = []
            for index, position in sorted(cut):
                behind = self._reached([self._children[index][position]], set())
                leaves = tuple(tid for tid in behind if tid >= 0 and tid not in given)
                if leaves:
                    node = self._nodes[index]
                    number = self._ledger.number_of(node)
                    found.append(Kept(number, node.name(), position, leaves))
            return found[:_MOST_TOLD]
        finally:
            self._drop()

    def _reached(self, start: list[int], cut: set[tuple[int, int]]) -> dict[int, None]:
        """Return the leaves behind nodes, past what was kept back."""
        seen, queue = set(start), list(start)
        found: dict[int, None] = {}
        for index in queue:
            if index in self._leaves:
                found[self._leaves[index]] = None
            for position, child in enumerate(self._children[index]):
                if child >= 0 and child not in seen and (index, position) not in cut:
                    seen.add(child)
                    queue.append(child)
        return found

    def _drop(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._take(None)

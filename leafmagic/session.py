"""What is known across the traces of one process: of earlier cells, in numbers and text.

Numbers of tensors and nodes are the process's (see `leafmagic.ledger`), so that what one
trace took down can be read in the next. Nothing here keeps a tensor or a node alive: an
entry goes when its tensor is gone, and there is a bound for all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

MOST_TENSORS = 10_000
MOST_NODES = 20_000
MOST_CELLS = 500
MOST_RUNS = 50


class MadeAt(NamedTuple):
    """Where a tensor that lives on was made.

    Attributes
    ----------
    run : int
        Of the trace that saw it made; see `Session.begin`.
    name, path : str
        The variable that pointed to it, and its path in a module or container.
    label : str
        The cell or file.
    line : int or None
    source : str
        The line's text, stripped.
    """

    run: int
    name: str
    path: str
    label: str
    line: int | None
    source: str


class PassOver(NamedTuple):
    """The newest backward pass that ran over a node.

    Attributes
    ----------
    run : int
    what : str
        ``backward`` or ``grad``.
    label : str
    line : int or None
    source : str
    retained : bool
        Whether the graph was kept: ``retain_graph`` or ``create_graph``.
    """

    run: int
    what: str
    label: str
    line: int | None
    source: str
    retained: bool


class KeptGradient(NamedTuple):
    """What a trace knew of the gradient of a leaf when it ended.

    Attributes
    ----------
    run : int
        Of the trace with the newest pass that added to it.
    passes, steps, waiting : int
        Passes since it was cleared, steps that used it, passes since the newest of those.
    owned, handled : bool
        Whether an optimizer has the leaf, and whether the gradient was set by hand.
    label, line, source
        Where the newest pass ran.
    cleared : tuple of (label, line, source), or None
        Where it was cleared.
    """

    run: int
    passes: int
    steps: int
    waiting: int
    owned: bool
    handled: bool
    label: str = ""
    line: int | None = None
    source: str = ""
    cleared: tuple[str, int | None, str] | None = None


class Snapshot(NamedTuple):
    """A tensor of a ``state_dict()`` that was bound to a name: it shares the parameter's memory.

    Attributes
    ----------
    of : int
        tid of the parameter.
    name, call : str
        The variable, and the expression it was bound to.
    changed : str
        What has written to the parameter since, in words; empty where nothing has.
    """

    run: int
    of: int
    name: str
    call: str
    label: str
    line: int
    source: str
    changed: str = ""


@dataclass(slots=True)
class CellRuns:
    """How often a cell of one text ran."""

    count: int = 0
    runs: list[tuple[int, str]] = field(default_factory=list)
    """Number and label of each trace of it; of very many the newest."""


class Session:
    """What traces leave for those that come after them.

    Attributes
    ----------
    run : int
        Number of the newest trace.
    made : dict
        By tid, where each live tensor was made.
    passed : dict
        By nid, the newest pass over a node behind a live tensor.
    cells : dict
        By its text, the runs of a cell.
    told : set
        What was told and must not be told again by the next trace; of any kind.
    gradients, snapshots : dict
        By tid, of the leaf or of the snapshot.
    filled : dict
        By tid, the number of each such leaf's gradient, and its version, when the trace ended.
    """

    run: int
    made: dict[int, MadeAt]
    passed: dict[int, PassOver]
    cells: dict[str, CellRuns]
    told: set[tuple[str, int]]
    gradients: dict[int, KeptGradient]
    filled: dict[int, tuple[int, int]]
    snapshots: dict[int, Snapshot]

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.run = 0
        self.made, self.passed, self.cells, self.told = {}, {}, {}, set()
        self.gradients, self.snapshots, self.filled = {}, {}, {}
        self._labels: dict[int, str] = {}
        self._texts: dict[int, str] = {}
        self._behind: dict[int, frozenset[int]] = {}

    def begin(self, label: str, text: str) -> int:
        """Note that a trace begins; return its number.

        Parameters
        ----------
        label : str
            What the reader knows the cell as; empty for a trace that is no cell.
        text : str
            The cell's text.
        """
        self.run += 1
        self._labels[self.run], self._texts[self.run] = label, text
        _bound(self._labels, MOST_CELLS)
        _bound(self._texts, MOST_CELLS)
        if text:
            known = self.cells.setdefault(text, CellRuns())
            known.count += 1
            known.runs.append((self.run, label))
            del known.runs[:-MOST_RUNS]
            _bound(self.cells, MOST_CELLS)
        return self.run

    def label(self, run: int) -> str:
        """Return what the cell of a trace is called; empty where that is not known."""
        return self._labels.get(run, "")

    def is_rerun(self, run: int, earlier: int) -> bool:
        """Tell whether a trace is of the same cell as an earlier one."""
        text = self._texts.get(run, "")
        return bool(text) and run != earlier and self._texts.get(earlier) == text

    def learn(self, tid: int, made: MadeAt | None, behind: Iterable[int] = ()) -> None:
        """Take down a live tensor, and the numbers of the nodes behind it.

        Where it was made is taken down once: a later trace did not see it.
        """
        if made is not None:
            self.made.setdefault(tid, made)
        self._behind[tid] = frozenset(behind)

    def learn_passes(self, passed: dict[int, PassOver]) -> None:
        """Take down which passes ran over which nodes."""
        self.passed.update(passed)
        _bound(self.passed, MOST_NODES)

    def keep_only(self, tids: Iterable[int]) -> None:
        """Forget all that belongs to tensors that are gone; `tids` are those that live."""
        alive = set(tids)
        self.made = {tid: made for tid, made in self.made.items() if tid in alive}
        self._behind = {tid: nodes for tid, nodes in self._behind.items() if tid in alive}
        self.gradients = {tid: kept for tid, kept in self.gradients.items() if tid in alive}
        self.snapshots = {tid: kept for tid, kept in self.snapshots.items() if tid in alive}
        for table in (self.made, self.gradients, self.snapshots):
            _bound(table, MOST_TENSORS)
        self.filled = {tid: seen for tid, seen in self.filled.items() if tid in self.gradients}
        _bound(self._behind, MOST_TENSORS)
        behind: set[int] = set().union(*self._behind.values())
        self.passed = {nid: over for nid, over in self.passed.items() if nid in behind}


def _bound(table: dict[Any, Any], most: int) -> None:
    """Let go of the oldest entries of a table that has too many."""
    while len(table) > most:
        del table[next(iter(table))]


SESSION = Session()
"""That of this process."""

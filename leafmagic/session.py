"""What is known across the traces of one process: of earlier cells, in numbers and text.

Numbers of tensors and nodes are the process's (see `leafmagic.ledger`), so that what one
trace took down can be read in the next. Nothing here keeps a tensor or a node alive: an
entry goes when its tensor is gone, and there is a bound for all the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leafmagic.bygone import Bygone, GraphEnd, ModeOff

MOST_TENSORS = 10_000
MOST_NODES = 20_000
MOST_CELLS = 500
MOST_RUNS = 50
MOST_FLOWS = 100
_ALIKE = 0.6
"""More of the lines than that a cell must share with an earlier one to pass for it."""


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
    ordinal : int
        When in that trace it ended.
    """

    run: int
    what: str
    label: str
    line: int | None
    source: str
    retained: bool
    ordinal: int = 0


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


class Loss(NamedTuple):
    """What backward began at, and which variables it got to.

    Attributes
    ----------
    name : str
        Empty where it had none.
    reached : frozenset of str
    leaves : frozenset of str
        Those of `reached` that were leaves.
    passed : bool
        Whether backward ran; else it is the last scalar of the cell.
    """

    name: str
    reached: frozenset[str]
    leaves: frozenset[str]
    passed: bool


class Flow(NamedTuple):
    """What reached the losses of a cell when it last ran."""

    run: int
    losses: tuple[Loss, ...]


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
    frozen : dict
        By tid, where each live leaf that is frozen was frozen.
    passed : dict
        By nid, the newest pass over a node behind a live tensor.
    cells : dict
        By its text, the runs of a cell.
    told : set
        What the next trace must not tell again; of any kind.
    gradients, snapshots : dict
        By tid, of the leaf or of the snapshot.
    flows : dict
        By its id, or where it has none its text, the last run of a cell that had a loss.
    filled : dict
        By tid, the number of each such leaf's gradient, and its version, when the trace ended.
    ends : dict
        By the text of a cell and a name, where the graph of the name ended.
    off : dict
        By the number of a trace, that grad mode was off when it began, and since when.
    bygone : Bygone
        Nodes that live on, and what was written to what they saved.
    left_off : int
        The trace that left grad mode off, which it had found on; or 0.
    """

    run: int
    made: dict[int, MadeAt]
    frozen: dict[int, MadeAt]
    passed: dict[int, PassOver]
    cells: dict[str, CellRuns]
    told: set[tuple[str, int]]
    gradients: dict[int, KeptGradient]
    filled: dict[int, tuple[int, int]]
    snapshots: dict[int, Snapshot]
    flows: dict[tuple[str, str], tuple[Flow, str]]
    ends: dict[tuple[str, str], GraphEnd]
    off: dict[int, ModeOff]
    left_off: int
    bygone: Bygone

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.run = 0
        self.made, self.passed, self.cells, self.told = {}, {}, {}, set()
        self.gradients, self.snapshots, self.filled, self.frozen = {}, {}, {}, {}
        self.flows, self.ends, self.bygone = {}, {}, Bygone()
        self._keys: dict[int, tuple[str, str]] = {}
        self.off, self.left_off = {}, 0
        self._labels: dict[int, str] = {}
        self._texts: dict[int, str] = {}
        self._behind: dict[int, frozenset[int]] = {}

    def begin(self, label: str, text: str, cell: str | None = None) -> int:
        """Note that a trace begins; return its number.

        Parameters
        ----------
        label : str
            What the reader knows the cell as; empty for a trace that is no cell.
        text : str
            The cell's text.
        cell : str, optional
            What the front end knows the cell by, whatever its text; empty where it does not
            say. None for a trace that is no cell.
        """
        self.run += 1
        if cell is not None:
            self._keys[self.run] = (cell, "" if cell else text)
            _bound(self._keys, MOST_FLOWS)
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

    def note_mode(self, run: int, *, on: bool) -> None:
        """Note whether grad mode is on when a trace begins."""
        if on:
            self.left_off = 0
            self.told.discard(("grad_mode", 0))
            return
        known = self.left_off
        self.off[run] = ModeOff(known, self._labels.get(known, ""), self._texts.get(known, ""))
        _bound(self.off, MOST_CELLS)

    def leave_mode(self, run: int, *, on: bool) -> None:
        """Note whether grad mode is on when a trace ends."""
        if on:
            self.left_off = 0
        elif run not in self.off:
            self.left_off = run

    def label(self, run: int) -> str:
        """Return what the cell of a trace is called; empty where that is not known."""
        return self._labels.get(run, "")

    def text(self, run: int) -> str:
        """Return the text of the cell of a trace; empty where that is not known."""
        return self._texts.get(run, "")

    def texts(self, run: int) -> Iterator[tuple[str, str]]:
        """Yield label and text of the cells traced before a trace, the newest first."""
        for known in sorted(self._texts, reverse=True):
            if known < run and self._texts[known]:
                yield self.label(known), self._texts[known]

    def is_rerun(self, run: int, earlier: int) -> bool:
        """Tell whether a trace is of the same cell as an earlier one."""
        text = self._texts.get(run, "")
        return bool(text) and run != earlier and self._texts.get(earlier) == text

    def former(self, run: int) -> tuple[Flow, str] | None:
        """Return the flow of the last run of a trace's cell before it, and its text then.

        Where the front end does not tell which cell it is, it is the one with the same
        text, or else with the most lines in common.
        """
        key = self._keys.get(run)
        if key is None:
            return None
        known = self.flows.get(key)
        if known is not None or key[0]:
            return known
        best, mine = _ALIKE, _lines(key[1])
        for (cell, text), kept in reversed(self.flows.items()):
            theirs = _lines(text)
            same = (mine & theirs).total() / max(mine.total(), theirs.total(), 1)
            if not cell and same > best:
                best, known = same, kept
        return known

    def learn_flow(self, flow: Flow) -> None:
        """Take down what reached the losses of the trace that ends."""
        key = self._keys.get(flow.run)
        if key is not None:
            self.flows.pop(key, None)
            self.flows[key] = flow, self._texts.get(flow.run, "")
            _bound(self.flows, MOST_FLOWS)

    def learn_end(self, key: tuple[str, str], end: GraphEnd) -> None:
        """Take down where the graph of a name ends, by the text of the cell and the name."""
        self.ends.pop(key, None)
        self.ends[key] = end
        _bound(self.ends, MOST_CELLS)

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
        self.frozen = {tid: at for tid, at in self.frozen.items() if tid in alive}
        for table in (self.made, self.gradients, self.snapshots, self.frozen):
            _bound(table, MOST_TENSORS)
        self.filled = {tid: seen for tid, seen in self.filled.items() if tid in self.gradients}
        _bound(self._behind, MOST_TENSORS)
        behind: set[int] = set().union(*self._behind.values())
        self.passed = {nid: over for nid, over in self.passed.items() if nid in behind}
        self.bygone.keep_only(behind, alive)


def _lines(text: str) -> Counter[str]:
    """Count the lines of a text that tell it from others."""
    lines = [line.strip() for line in text.splitlines()]
    plain = ("%", "#", "import ", "from ")
    return Counter(line for line in lines if line and not line.startswith(plain))


def _bound(table: dict[Any, Any], most: int) -> None:
    """Let go of the oldest entries of a table that has too many."""
    while len(table) > most:
        del table[next(iter(table))]


SESSION = Session()
"""That of this process."""

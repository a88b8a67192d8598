"""What earlier traces knew of nodes that live on: where they were made, what was written since.

In numbers and text: nothing here keeps a tensor or a node alive. An entry goes when the last
tensor before its node is gone, and there is a bound for all the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

MOST_NODES = 20_000
MOST_WRITTEN = 5_000
MOST_UNSEEN = 200
MOST_WRITES = 8
"""For each tensor: the first, and the newest."""


class Operand(NamedTuple):
    """A tensor that an op was called with, or that it made, and which a node may have saved.

    Attributes
    ----------
    tid, root : int
        Its own, and of the tensor whose memory it shares.
    name : str
        What it was called; empty where it had no name.
    shape : tuple of int
    made : bool
        Whether it is a result of the op.
    grad : bool
        Whether it requires grad.
    leaf : bool
        Whether it is a leaf that does.
    """

    tid: int
    root: int
    name: str
    shape: tuple[int, ...]
    made: bool
    grad: bool
    leaf: bool


class NodeAt(NamedTuple):
    """Where a node was made.

    Attributes
    ----------
    run, ordinal : int
        The trace, and when in it.
    place : Place
        A `leafmagic.cell.Place`: plain text and numbers.
    operands : tuple of Operand
    """

    run: int
    ordinal: int
    place: Any
    operands: tuple[Operand, ...]


class WroteAt(NamedTuple):
    """A write in place; the attributes are those of `NodeAt`, and the op."""

    run: int
    ordinal: int
    place: Any
    what: str


class UnseenAt(NamedTuple):
    """A write that torch did not count.

    Attributes
    ----------
    run : int
    place : Place
    write : Write
        A `leafmagic.fingerprints.Write`, which holds the memory weakly; its site is
        the key of this entry.
    """

    run: int
    place: Any
    write: Any


class GraphEnd(NamedTuple):
    """The node that a name of the notebook ended at, when its cell had run.

    Attributes
    ----------
    run : int
    nid : int
    runs : int
        To the graphs of how many runs of the cell, in a row, it leads.
    """

    run: int
    nid: int
    runs: int


class ModeOff(NamedTuple):
    """Grad mode was off when a trace began.

    Attributes
    ----------
    run : int
        Of the trace that left it off; 0 where none did, but what was not traced.
    label : str
        What the cell of that trace is called.
    text : str
        The text of that cell.
    """

    run: int = 0
    label: str = ""
    text: str = ""


@dataclass(slots=True)
class Bygone:
    """Nodes and writes of traces that are over.

    Attributes
    ----------
    nodes : dict
        By nid, where it was made.
    writes : dict
        By the tid of the tensor whose memory it is, the writes to it, in order.
    unseen : dict
        Writes that torch did not count, by negative numbers.
    last : int
        The newest of those numbers.
    """

    nodes: dict[int, NodeAt] = field(default_factory=dict)
    writes: dict[int, tuple[WroteAt, ...]] = field(default_factory=dict)
    unseen: dict[int, UnseenAt] = field(default_factory=dict)
    last: int = 0

    def learn(self, nodes: dict[int, NodeAt], writes: dict[int, list[WroteAt]]) -> None:
        """Take down what a trace knows. A node that is known was made before."""
        for nid, made in nodes.items():
            self.nodes.setdefault(nid, made)
        for root, new in writes.items():
            known = [*self.writes.pop(root, ()), *new]
            if len(known) > MOST_WRITES:
                del known[1 : len(known) - MOST_WRITES + 1]
            self.writes[root] = tuple(known)

    def learn_unseen(self, run: int, wrote: Iterable[tuple[Any, Any]]) -> None:
        """Take down the places and the writes that torch did not count.

        Of those to one tensor by one line the newest stands for all, be it of a cell run again.
        """
        for place, write in wrote:
            key = place.line, place.text, write.how, write.tid
            for number, one in list(self.unseen.items()):
                if (one.place.line, one.place.text, one.write.how, one.write.tid) == key:
                    del self.unseen[number]
            self.last -= 1
            self.unseen[self.last] = UnseenAt(run, place, replace(write, site=self.last))

    def keep_only(self, nids: Iterable[int], tids: Iterable[int]) -> None:
        """Forget all but some nodes, and writes to some tensors and to what those nodes saved."""
        behind, alive = set(nids), set(tids)
        self.nodes = {nid: made for nid, made in self.nodes.items() if nid in behind}
        while len(self.nodes) > MOST_NODES:
            del self.nodes[next(iter(self.nodes))]
        saved = {one.root for made in self.nodes.values() for one in made.operands}
        self.writes = {
            root: known for root, known in self.writes.items() if root in saved or root in alive
        }
        while len(self.writes) > MOST_WRITTEN:
            del self.writes[next(iter(self.writes))]
        saved |= {one.tid for made in self.nodes.values() for one in made.operands}
        self.unseen = {n: one for n, one in self.unseen.items() if one.write.tid in saved}
        while len(self.unseen) > MOST_UNSEEN:
            del self.unseen[next(iter(self.unseen))]

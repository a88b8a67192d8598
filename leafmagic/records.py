"""What a trace knows of its tensors and nodes, one record per place in the code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leafmagic.events import NodeSeen, OpCalled, TensorSeen

LONGEST_HISTORY = 40
MOST_SHAPES = 4


@dataclass(slots=True)
class Moment:
    """When and where something happened."""

    ordinal: int
    site: int
    what: str = ""


@dataclass(slots=True)
class Name:
    """A variable that points, or pointed, to a tensor."""

    scope: str
    name: str
    line: int | None
    label: str
    ordinal: int
    current: bool = True
    source: str = ""


@dataclass(slots=True)
class TensorRecord:
    """What is known of one tensor; see `leafmagic.graph.Node` for the words."""

    tid: int
    index: int
    seen: TensorSeen
    requires_grad: bool
    is_leaf: bool
    retains_grad: bool
    version: int
    hooks: int
    nid: int
    made: Moment
    inputs: tuple[int, ...] = ()
    direct: bool = False
    grad_enabled: bool = True
    alias: int = -1
    names: list[Name] = field(default_factory=list)
    path: str = ""
    registered: bool = False
    hint: str = ""
    writes: list[Moment] = field(default_factory=list)
    retained: Moment | None = None
    cleared: Moment | None = None
    hooked: list[Moment] = field(default_factory=list)
    flagged: list[Moment] = field(default_factory=list)
    has_grad: bool = False
    old_grad: bool = False
    """Whether it had this gradient when the trace met it."""
    grad_norm: float | None = None
    preview: str = ""
    grad_preview: str = ""
    count: int = 1
    previous: int = -1
    used: bool = False
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    """Those that were seen, where they differ; the newest last."""
    merged: bool = False
    """Whether another record stands for it."""
    touched: bool = False
    """Whether anything was noted that the next step has to drop."""

    @property
    def id(self) -> str:
        """Return the id that the graph gives it."""
        return f"t{self.index}"

    def forget(self) -> None:
        """Drop what was noted about the tensor of the step before."""
        self.writes, self.hooked, self.flagged, self.retained = [], [], [], None
        self.has_grad, self.old_grad, self.grad_norm = False, False, None
        self.retains_grad, self.version, self.hooks = False, 0, 0
        self.touched = False

    def varies(self, shape: Any) -> None:
        """Note that the shape is another one than before; of many keep the newest."""
        for one in (self.seen.shape, shape):
            sizes = tuple([int(size) for size in one])
            if sizes in self.shapes:
                self.shapes.remove(sizes)
            self.shapes.append(sizes)
        del self.shapes[:-MOST_SHAPES]

    def renew(self, seen: TensorSeen) -> None:
        """Let the slot stand for the tensor that the next step made."""
        self.previous, self.tid = self.tid, seen.tid
        if seen.shape != self.seen.shape:
            self.varies(seen.shape)
        self.seen, self.nid = seen, seen.nid
        self.requires_grad, self.is_leaf = seen.requires_grad, seen.is_leaf
        self.count += 1
        self.merged = False
        self.forget()
        self.retains_grad, self.version = seen.retains_grad, seen.version
        self.hooks = seen.hooks


class Link(NamedTuple):
    """An edge between slots.

    Attributes
    ----------
    to : NodeRecord or TensorRecord
        A leaf, or the node behind the input. A tensor that is no leaf stands for its node.
    output_nr : int
    carried : bool
        Whether what it leads to was made in an earlier step.
    """

    to: NodeRecord | TensorRecord
    output_nr: int
    carried: bool


@dataclass(slots=True)
class NodeRecord:
    """What is known of one autograd node."""

    nid: int
    index: int
    seen: NodeSeen
    op: str
    made: Moment
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    count: int = 1
    previous: int = -1
    merged: bool = False
    links: list[Link] = field(default_factory=list)

    @property
    def id(self) -> str:
        """Return the id that the graph gives it."""
        return f"n{self.index}"


@dataclass(slots=True)
class OpSlot:
    """One op of the step: what it made last time, to be taken over by the next."""

    made: Moment
    tensors: list[TensorRecord] = field(default_factory=list)
    nodes: list[NodeRecord] = field(default_factory=list)
    operands: tuple[int, ...] = ()
    """Indices of the tensors it was called with."""
    tracked: tuple[int, ...] = ()
    """Those among them that require grad."""
    key: tuple[str, str] | None = None
    """The name that the source gives the output, inside a function; bound at `line`."""
    line: int | None = None
    label: str = ""
    after: int = -1
    """Index of the tensor that the name pointed to before."""


@dataclass(slots=True)
class Pass:
    """One call of ``backward`` or ``autograd.grad``."""

    ordinal: int
    site: int
    what: str
    roots: tuple[int, ...]
    inputs: tuple[int, ...]
    retain_graph: bool
    create_graph: bool
    finished: int = 0
    failed: bool = False
    times: int = 1
    """How often it ran."""


def any_current(record: TensorRecord) -> bool:
    """Tell whether a variable still points to a tensor."""
    return any(name.current for name in record.names)


def is_held(record: TensorRecord) -> bool:
    """Tell whether a tensor is a leaf of the user's, and not data that comes and goes."""
    mine = record.is_leaf and record.requires_grad and any_current(record)
    return record.registered or mine


def best_name(record: TensorRecord) -> str:
    """Choose what to call a tensor: a variable, a parameter's path, what it was called."""
    if record.registered and record.path:
        return record.path
    current = [name for name in record.names if name.current]
    outer = [name for name in current if not name.scope]
    if outer:
        return outer[-1].name
    if record.path:
        return record.path
    if current:
        return current[-1].name
    if record.names:
        return record.names[-1].name
    return record.hint


def remember(moments: list[Moment], moment: Moment) -> None:
    """Add a moment; of very many keep the first and the newest."""
    moments.append(moment)
    if len(moments) > LONGEST_HISTORY:
        del moments[1]


def foreign_nodes(event: OpCalled) -> set[int]:
    """Return the nodes that an input brought along: made before, by something unseen."""
    if len(event.nodes) == 1:
        return set()
    edges = {seen.nid: seen.edges for seen in event.nodes}
    queue = [
        seen.nid
        for seen in event.tensors
        if seen.nid in edges and seen.tid in event.inputs and seen.tid not in event.outputs
    ]
    found = set(queue)
    for nid in queue:
        for kind, child, _ in edges[nid]:
            if kind == "n" and child in edges and child not in found:
                found.add(child)
                queue.append(child)
    return found

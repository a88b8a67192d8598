"""The autograd graph as plain, immutable data.

Nothing here knows torch: a graph can be built by hand in a test, saved as
JSON and read back on a machine without torch.

Edges point the way ``next_functions`` points, from a result towards the
leaves. Only a renderer may flip them.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import networkx

NodeKind = Literal["tensor", "op"]
State = Literal[
    "leaf",
    "frozen leaf",
    "retained",
    "non-leaf",
    "constant",
    "phantom leaf",
    "dead name",
    "op",
]
GradState = Literal["", "fresh", "used", "cleared"]
EdgeKind = Literal["next", "output", "base", "data", "cut"]

STATES: dict[str, str] = {
    "leaf": "leaf: requires grad, backward fills its .grad",
    "retained": "non-leaf with retain_grad(): its .grad is kept",
    "non-leaf": "computed: has a grad_fn, its .grad stays None",
    "frozen leaf": "leaf that does not require grad",
    "constant": "computed without grad: the gradient stops here",
    "phantom leaf": "view taken under no_grad: looks like a leaf, never gets a gradient",
    "dead name": "leaf whose name now points to another tensor",
    "op": "autograd node (grad_fn)",
}
"""Every state a node can be in, with the words of the legend, in legend order."""


@dataclass(frozen=True, slots=True)
class Binding:
    """One moment at which a variable of the cell was bound to a tensor.

    Attributes
    ----------
    name : str
        The variable, as the source spells it.
    line : int or None
        The 1-based line of the binding statement.
    current : bool
        False once the name points to something else.
    """

    name: str
    line: int | None
    current: bool = True


@dataclass(frozen=True, slots=True)
class GradStats:
    """What was measured of one gradient, in one backward pass.

    Attributes
    ----------
    step : int
        Which pass of its line it was, from 1.
    norm, max, mean : float
        L2 norm, greatest absolute value and mean of the elements.
    zeros : float
        Share of elements that are exactly zero, 0 to 1.
    bad : int
        Number of elements that are nan or infinite.
    size : int
        Number of elements.
    update : float or None
        For a leaf that was changed after the pass: norm of the change over norm of its
        values.
    histogram : tuple of int
        Counts of elements by their power of ten, from 1e-8 and below to 1e3 and above;
        empty where it was not asked for.
    """

    step: int
    norm: float
    max: float
    mean: float
    zeros: float
    bad: int = 0
    size: int = 0
    update: float | None = None
    histogram: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A tensor or an autograd node, frozen into plain values.

    Attributes
    ----------
    id : str
        Unique within one graph and stable while a cell runs:
        ``"t7"`` for a tensor, ``"n12"`` for an op.
    kind : {"tensor", "op"}
        AccumulateGrad nodes are not listed: the leaf tensor stands for them.
    name : str
        For a tensor the variable or parameter name (``"w"``,
        ``"net.0.weight"``), empty where it has none. For an op its
        ``grad_fn.name()``, such as ``"MulBackward0"``.
    op : str
        The function that was called, such as ``"mul"``; empty where unknown.
    state : str
        A key of `STATES`.
    shape : tuple of int or None
        Of the tensor; for an op of its first output, where that was seen.
    line, end_line : int or None
        1-based first and last line of the expression, as the notebook numbers them.
    column, end_column : int or None
        0-based, in characters.
    cell : str or None
        Where the line is: a cell label such as ``"Cell In[3]"`` or a file name.
    source : str
        The expression that made it, as written.
    module : str or None
        For a parameter its path (``"net.0.weight"``); for an op the ``nn.Module`` call
        it ran in, where known.
    hooks : int
        Number of tensor hooks seen.
    has_grad : bool
        True if ``.grad`` holds a value and reading it is meaningful.
    grad_norm : float or None
        L2 norm of ``.grad``; None where there is none or it was not measured.
    preview, grad_preview : str
        The values, for small tensors only; otherwise empty.
    names : tuple of Binding
        The history of the names that pointed here, oldest first.
    base : str or None
        For a view the id of the tensor it looks into.
    writes : tuple of int
        Lines of in-place writes to this tensor, oldest first.
    count : int
        How often this place of the code ran while the trace was open.
    stats : GradStats or None
        Newest measurement: for a leaf of its ``.grad`` after the pass, for an op of the
        gradient that arrived there.
    trend : tuple of float
        Its norms in the newest passes that were measured, oldest first.
    passes : int
        For a leaf: of how many backward passes its ``.grad`` is the sum; None where that is not
        known.
    grad_state : {"", "fresh", "used", "cleared"}
        What happened last to the ``.grad`` of a leaf: a pass added to it, a step of an
        optimizer used it, it was cleared.
    stepped_line, cleared_line : int or None
        Where it was last used and cleared.
    ran, ran_of : int
        In how many steps of its loop the place ran; both 0 outside a loop.
    in_newest : bool
        False if the newest step did not come past here.
    shapes : tuple of tuple of int
        The shapes that were seen, where they differ from step to step; a few at most.
    breaks : {"", "nan", "inf"}
        What a gradient that was sound became in this op.
    failed : bool
        Whether the error that ended the cell came from here.
    """

    id: str
    kind: NodeKind
    name: str = ""
    op: str = ""
    state: State = "non-leaf"
    shape: tuple[int, ...] | None = None
    dtype: str = ""
    device: str = ""
    is_leaf: bool = False
    requires_grad: bool = False
    retains_grad: bool = False
    version: int = 0
    line: int | None = None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None
    cell: str | None = None
    source: str = ""
    module: str | None = None
    hooks: int = 0
    has_grad: bool = False
    grad_norm: float | None = None
    preview: str = ""
    grad_preview: str = ""
    names: tuple[Binding, ...] = ()
    base: str | None = None
    writes: tuple[int, ...] = ()
    count: int = 1
    stats: GradStats | None = None
    trend: tuple[float, ...] = ()
    passes: int | None = 0
    grad_state: GradState = ""
    stepped_line: int | None = None
    cleared_line: int | None = None
    ran: int = 0
    ran_of: int = 0
    in_newest: bool = True
    shapes: tuple[tuple[int, ...], ...] = ()
    breaks: str = ""
    failed: bool = False

    @property
    def has_hooks(self) -> bool:
        """Whether a tensor hook is registered."""
        return self.hooks > 0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, ``has_hooks`` included.

        JSON has no word for an infinite or undefined number: it is then a string,
        ``"inf"`` or ``"nan"``.
        """
        values = self._attributes()
        values["grad_norm"] = in_json(self.grad_norm)
        values["trend"] = [in_json(norm) for norm in self.trend]
        if self.stats is not None:
            values["stats"] = {key: in_json(value) for key, value in values["stats"].items()}
        return values

    def _attributes(self) -> dict[str, Any]:
        # By hand: `dataclasses.asdict` takes ten times as long, and a live view calls this often.
        values = {name: getattr(self, name) for name in _NODE_FIELDS}
        values["names"] = tuple(
            {"name": b.name, "line": b.line, "current": b.current} for b in self.names
        )
        if self.stats is not None:
            values["stats"] = {name: getattr(self.stats, name) for name in _STATS_FIELDS}
        values["has_hooks"] = self.has_hooks
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Node:
        """Rebuild a node from `to_dict`; unknown keys are ignored."""
        known = {f.name for f in dataclasses.fields(cls)}
        kept = {k: v for k, v in values.items() if k in known}
        if kept.get("shape") is not None:
            kept["shape"] = tuple(kept["shape"])
        if kept.get("grad_norm") is not None:
            kept["grad_norm"] = float(kept["grad_norm"])
        kept["trend"] = tuple(map(float, kept.get("trend", ())))
        kept["shapes"] = tuple(map(tuple, kept.get("shapes", ())))
        if kept.get("stats") is not None:
            kept["stats"] = _stats(kept["stats"])
        kept["writes"] = tuple(kept.get("writes", ()))
        kept["names"] = tuple(Binding(**b) for b in kept.get("names", ()))
        return cls(**kept)


_NODE_FIELDS = tuple(f.name for f in dataclasses.fields(Node))
_STATS_FIELDS = tuple(f.name for f in dataclasses.fields(GradStats))


def in_json(value: Any) -> Any:
    """Return a number as JSON can say it: what is not finite as a string."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _stats(values: Mapping[str, Any]) -> GradStats:
    known = {f.name for f in dataclasses.fields(GradStats)}
    kept: dict[str, Any] = {
        k: float(v) if isinstance(v, str) else v for k, v in values.items() if k in known
    }
    kept["histogram"] = tuple(kept.get("histogram", ()))
    return GradStats(**kept)


@dataclass(frozen=True, slots=True)
class Edge:
    """A link from a result towards what it came from.

    Attributes
    ----------
    source, target : str
        Node ids; the gradient flows from `source` to `target`.
    kind : {"next", "output", "base", "data", "cut"}
        ``next``: an entry of ``next_functions``, op to op or op to leaf.
        ``output``: non-leaf tensor to its ``grad_fn``.
        ``base``: view to its base. ``data``: op to an input that gets no gradient.
        ``cut``: tensor without grad to the differentiable tensor it was computed
        from; the gradient stops here.
    output_nr : int
        Which output of `target` is meant.
    carried : bool
        True where `target` belongs to an earlier step of a loop.
    """

    source: str
    target: str
    kind: EdgeKind = "next"
    output_nr: int = 0
    carried: bool = False


@dataclass(frozen=True)
class AutogradGraph:
    """An immutable autograd graph.

    Attributes
    ----------
    nodes : tuple of Node
        In the order in which they were made.
    edges : tuple of Edge
        In the direction of ``next_functions``.
    """

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()

    def node(self, node_id: str) -> Node:
        """Return the node with that id.

        Raises
        ------
        KeyError
            If there is none.
        """
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    def named(self, name: str) -> Node:
        """Return the newest tensor that a variable or parameter name points to.

        Raises
        ------
        KeyError
            If no tensor has, or had, that name.
        """
        had: Node | None = None
        for node in reversed(self.nodes):
            if node.kind != "tensor":
                continue
            if node.name == name and any(b.current for b in node.names if b.name == name):
                return node
            if had is None and (node.name == name or any(b.name == name for b in node.names)):
                had = node
        if had is None:
            raise KeyError(name)
        return had

    def to_networkx(self) -> networkx.MultiDiGraph:
        """Return a ``networkx.MultiDiGraph`` with every field as an attribute."""
        import networkx

        graph = networkx.MultiDiGraph()
        for node in self.nodes:
            graph.add_node(node.id, **{k: v for k, v in node._attributes().items() if k != "id"})
        for edge in self.edges:
            graph.add_edge(
                edge.source,
                edge.target,
                kind=edge.kind,
                output_nr=edge.output_nr,
                carried=edge.carried,
            )
        return graph

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"nodes": [...], "edges": [...]}``, JSON-ready."""
        return {
            "nodes": [node.to_dict() for node in self.nodes],
            "edges": [
                {
                    "source": edge.source,
                    "target": edge.target,
                    "kind": edge.kind,
                    "output_nr": edge.output_nr,
                    "carried": edge.carried,
                }
                for edge in self.edges
            ],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> AutogradGraph:
        """Rebuild a graph from `to_dict`."""
        nodes: Iterable[Mapping[str, Any]] = values["nodes"]
        return cls(
            tuple(Node.from_dict(node) for node in nodes),
            tuple(Edge(**edge) for edge in values["edges"]),
        )

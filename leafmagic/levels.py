"""From the whole autograd graph to what one level of detail shows.

``ops`` shows every autograd node. ``names`` shows what the cell calls by a name;
the operations in between are folded into edges. Both walks are iterative, so a
graph of any depth can be folded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from leafmagic.boxes import Box, Level, NodeDict, elide, make_box, name_of, short_op
from leafmagic.graph import AutogradGraph

_KEPT_STATES = frozenset({"leaf", "frozen leaf", "retained", "phantom leaf", "dead name"})
_KIND_ORDER = {"next": 0, "output": 0, "data": 1, "base": 2, "cut": 3}
_LABEL_CHARS = 24
_SEVERITIES = ("info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Link:
    """An edge as one level shows it, from a result to what it was made from."""

    source: str
    target: str
    kind: str
    label: str = ""
    carried: bool = False


@dataclass(frozen=True, slots=True)
class LevelGraph:
    """The graph of one level.

    Attributes
    ----------
    boxes : tuple of Box
        In the order of the document's nodes.
    links : tuple of Link
        At most one for each pair of boxes, carried ones apart.
    markers : dict of str to str
        Box id to the gravest severity of the findings that belong there.
    owner : mapping of str to str
        For a folded node the box it is folded into.
    made_by : mapping of str to str
        For a computed tensor the op that made it: the gradient that arrives there is
        the tensor's.
    """

    boxes: tuple[Box, ...]
    links: tuple[Link, ...]
    markers: dict[str, str]
    owner: Mapping[str, str] = field(default_factory=dict)
    made_by: Mapping[str, str] = field(default_factory=dict)


def level_graph(document: AutogradGraph | Mapping[str, Any], level: Level) -> LevelGraph:
    """Return what one level shows of a graph.

    Parameters
    ----------
    document : AutogradGraph or mapping
        A graph, or a trace's document with ``nodes``, ``edges`` and ``findings``.
    level : {"names", "ops"}
        The level of detail.

    Raises
    ------
    ValueError
        If there is no such level.
    """
    values = document.to_dict() if isinstance(document, AutogradGraph) else document
    if level == "ops":
        return _ops_level(_View(values, keep_constants=True))
    if level == "names":
        return _names_level(_View(values, keep_constants=False))
    raise ValueError(f"level must be 'names' or 'ops', not {level!r}")


class _View:
    """A document's edges with the tensors that are not drawn taken out."""

    def __init__(self, document: Mapping[str, Any], *, keep_constants: bool) -> None:
        self.nodes: dict[str, NodeDict] = {node["id"]: node for node in document["nodes"]}
        self.running = bool((document.get("status") or {}).get("running"))
        self.findings: Iterable[Mapping[str, Any]] = document.get("findings") or ()
        edges = [e for e in document["edges"] if {e["source"], e["target"]} <= self.nodes.keys()]
        # An in-place write gives a tensor a new grad_fn: the last one is its own.
        self.made_by = {
            e["source"]: (e["target"], e.get("output_nr", 0))
            for e in edges
            if e["kind"] == "output"
        }
        self.shown = self._shown_tensors(edges, keep_constants)
        self._tensor_of = {
            made: tensor for tensor, made in reversed(self.made_by.items()) if tensor in self.shown
        }
        self.edges = list(self._resolved(edges))

    def _shown_tensors(self, edges: Iterable[Mapping[str, Any]], keep_constants: bool) -> set[str]:
        used: set[object] = set()
        ends: set[str] = set()
        for edge in edges:
            ends.update((edge["source"], edge["target"]))
            if edge["kind"] == "next":
                used.add((edge["target"], edge.get("output_nr", 0)))
            if edge["kind"] != "output":
                used.add(edge["target"])
        pointed_at = {finding.get("node") for finding in self.findings}
        shown = set()
        for node_id, node in self.nodes.items():
            if node["kind"] != "tensor":
                continue
            if name_of(node) or node_id in pointed_at:
                shown.add(node_id)
                continue
            is_root = node_id not in used and self.made_by.get(node_id) not in used
            state = node.get("state")
            keep = state in _KEPT_STATES or is_root or (keep_constants and state == "constant")
            if keep and node_id in ends:
                shown.add(node_id)
        return shown

    def _resolve(self, node_id: str) -> str:
        """Let the op stand for a tensor that is not drawn."""
        if node_id in self.shown or node_id not in self.made_by:
            return node_id
        made = self.made_by[node_id]
        return str(self._tensor_of.get(made, made[0]))

    def _resolved(self, edges: Iterable[Mapping[str, Any]]) -> Iterable[Link]:
        for edge in edges:
            source, target, kind = edge["source"], edge["target"], edge["kind"]
            carried = bool(edge.get("carried", False))
            if kind == "output":
                if source in self.shown and target == self.made_by[source][0]:
                    yield Link(source, target, kind, carried=carried)
                continue
            if kind == "base" and source in self.made_by:
                continue  # its own op already leads to the base
            if kind == "next":
                made = (target, edge.get("output_nr", 0))
                target = self._tensor_of.get(made, target)
            target = self._resolve(target)
            source = self._resolve(source)
            if source != target or carried:
                yield Link(source, target, kind, carried=carried)

    def finish(
        self, boxes: Iterable[str], links: Iterable[Link], level: Level, owner: Mapping[str, str]
    ) -> LevelGraph:
        """Put boxes in document order, keep one link a pair, and hang up the markers."""
        kept = set(boxes)
        markers: dict[str, str] = {}
        for finding in self.findings:
            node_id = finding.get("node")
            if node_id is None or node_id not in self.nodes:
                continue
            at = owner.get(node_id, node_id)
            if at in kept:
                grave = max(finding["severity"], markers.get(at, "info"), key=_SEVERITIES.index)
                markers[at] = grave
        drawn = tuple(
            make_box(n, level, running=self.running) for i, n in self.nodes.items() if i in kept
        )
        at = {node_id: i for i, node_id in enumerate(self.nodes)}
        kept_links = sorted(_one_per_pair(links), key=lambda k: (at[k.source], at[k.target]))
        made_by = {tensor: op for tensor, (op, _) in self.made_by.items()}
        return LevelGraph(drawn, tuple(kept_links), markers, owner, made_by)


def _one_per_pair(links: Iterable[Link]) -> list[Link]:
    best: dict[tuple[str, str, bool], Link] = {}
    for link in links:
        key = (link.source, link.target, link.carried)
        rank = (_KIND_ORDER.get(link.kind, 9), len(link.label))
        old = best.get(key)
        if old is None or rank < (_KIND_ORDER.get(old.kind, 9), len(old.label)):
            best[key] = link
    return list(best.values())


def _ops_level(view: _View) -> LevelGraph:
    boxes = [i for i, node in view.nodes.items() if node["kind"] == "op" or i in view.shown]
    kept = set(boxes)
    links = [link for link in view.edges if link.source in kept and link.target in kept]
    return view.finish(boxes, links, "ops", {})


@dataclass(slots=True)
class _Fold:
    """What the walk knows of a folded node: whose box, how far, by which way."""

    owner: str
    depth: int
    parent: str | None
    cut: bool


def _names_level(view: _View) -> LevelGraph:
    folds = _fold_hidden(view)
    links = []
    for link in view.edges:
        fold = folds.get(link.source)
        if fold is None or link.target not in folds or folds[link.target].owner != link.target:
            continue
        kind = "next" if link.kind == "output" else link.kind
        label = _path_label(view, folds, link.source)
        links.append(
            Link(fold.owner, link.target, "cut" if fold.cut else kind, label, link.carried)
        )
    boxes = [node_id for node_id, fold in folds.items() if fold.owner == node_id]
    owner = {node_id: fold.owner for node_id, fold in folds.items()}
    return view.finish(boxes, links, "names", owner)


def _fold_hidden(view: _View) -> dict[str, _Fold]:
    """Give every node the one box that it is folded into, results first.

    A hidden node that two boxes are made from becomes a box of its own: this keeps
    the number of edges, and the work, proportional to the graph.
    """
    preds: dict[str, list[Link]] = {node_id: [] for node_id in view.nodes}
    carried_to = set()
    for link in view.edges:
        if link.carried:
            carried_to.add(link.target)
        else:
            preds[link.target].append(link)
    linked = {end for link in view.edges for end in (link.source, link.target)}
    folds: dict[str, _Fold] = {}
    for node_id in _results_first(view):
        if node_id in view.shown:
            folds[node_id] = _Fold(node_id, 0, None, False)
            continue
        above = [(link, folds[link.source]) for link in preds[node_id] if link.source in folds]
        owners = {fold.owner for _, fold in above}
        if len(owners) == 1 and node_id not in carried_to:
            link, fold = min(above, key=lambda pair: (pair[1].cut, pair[1].depth))
            cut = fold.cut or link.kind == "cut"
            step = 1 if view.nodes[node_id]["kind"] == "op" else 0
            folds[node_id] = _Fold(fold.owner, fold.depth + step, link.source, cut)
        elif node_id in linked:
            folds[node_id] = _Fold(node_id, 0, None, False)
    return folds


def _results_first(view: _View) -> list[str]:
    """Sort topologically, every result before what it is made from."""
    succ: dict[str, list[str]] = {node_id: [] for node_id in view.nodes}
    waiting = dict.fromkeys(view.nodes, 0)
    for link in view.edges:
        if not link.carried:
            succ[link.source].append(link.target)
            waiting[link.target] += 1
    order = [node_id for node_id in reversed(view.nodes) if not waiting[node_id]]
    for node_id in order:
        for target in succ[node_id]:
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    if len(order) < len(view.nodes):  # an unmarked cycle: any order of the rest will do
        seen = set(order)
        order.extend(node_id for node_id in reversed(view.nodes) if node_id not in seen)
    return order


def _path_label(view: _View, folds: Mapping[str, _Fold], start: str) -> str:
    """Name the operations from an input to the box it ends in: ``"mul · add +5 ops"``."""
    total = folds[start].depth
    at: str | None = start
    text, named = "", 0
    while at is not None and folds[at].owner != at:
        node = view.nodes[at]
        if node["kind"] == "op":
            longer = f"{text} · {short_op(node)}" if text else short_op(node)
            if len(longer) > _LABEL_CHARS and named:
                break
            text, named = elide(longer, _LABEL_CHARS), named + 1
        at = folds[at].parent
    left = total - named
    return f"{text} +{left} op{'s' * (left > 1)}" if left > 0 else text

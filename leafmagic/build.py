"""From the records of a trace to an `AutogradGraph`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.failing import mark_failed
from leafmagic.graph import AutogradGraph, Binding, Edge, GradState, Node, State
from leafmagic.laps import Ran
from leafmagic.model import Model
from leafmagic.records import NodeRecord, TensorRecord, any_current, best_name

_SUFFIX = re.compile(r"Backward\d*$")
MOST_NODES = 20_000
"""Beyond this many, what comes later is counted but not drawn."""


def build_graph(model: Model) -> AutogradGraph:
    """Freeze the newest state of every slot into a graph.

    Only what took part is in it: tensors that ops used or made, everything behind
    them, and the variables of the cell.
    """
    chosen = _Chosen(model)
    links = chosen.edges()
    ends = {end for edge in links for end in (edge.source, edge.target)}
    tensors = [t for t in chosen.tensors.values() if t.id in ends or not _was_an_item(t)]
    ops = chosen.ops.values()
    ran = model.laps.judge([*tensors, *ops])
    nodes = [(t.index, _tensor_node(model, t, ran(t))) for t in tensors]
    named = {t.nid: t for t in tensors if t.nid >= 0 and t.names}
    nodes += [(op.index, _op_node(model, op, named.get(op.nid), ran)) for op in ops]
    nodes.sort(key=lambda pair: pair[0])
    kept = mark_failed(model, tuple(node for _, node in nodes[:MOST_NODES]))
    ids = {node.id for node in kept}
    edges = dict.fromkeys(e for e in links if e.source in ids and e.target in ids)
    return AutogradGraph(kept, tuple(edges))


class _Chosen:
    """The records that belong in the graph."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tensors: dict[int, TensorRecord] = {}
        self.ops: dict[int, NodeRecord] = {}
        for record in model.slots.records:
            if not record.merged and _takes_part(record):
                self.tensors[record.tid] = record
        for op in model.slots.node_records:
            if op.made.what and not op.merged:
                self.ops[op.nid] = op
        self._reach()

    def _reach(self) -> None:
        """Add everything behind what was chosen."""
        queue = list(self.ops.values())
        for tensor in list(self.tensors.values()):
            self._follow(tensor, queue)
        for op in queue:
            for to, _, _ in _targets(self.model, op):
                if isinstance(to, TensorRecord):
                    self._add_tensor(to.tid, queue)
                else:
                    self._add_op(to.nid, queue)
            for tid in op.inputs:
                self._add_tensor(tid, queue)

    def _add_tensor(self, tid: int, queue: list[NodeRecord]) -> None:
        record = self.model.tensors.get(tid)
        if record is not None and record.tid not in self.tensors:
            self.tensors[record.tid] = record
            self._follow(record, queue)

    def _follow(self, record: TensorRecord, queue: list[NodeRecord]) -> None:
        """Add what a tensor hangs on, the whole chain of its bases and inputs."""
        chain = [record]
        for current in chain:
            if current.nid >= 0:
                self._add_op(current.nid, queue)
            above = [current.seen.base]
            if not current.requires_grad:
                above += [i for i in current.inputs if _differentiable(self.model, i)]
            for tid in above:
                known = self.model.tensors.get(tid)
                if known is not None and known.tid not in self.tensors:
                    self.tensors[known.tid] = known
                    chain.append(known)

    def _add_op(self, nid: int, queue: list[NodeRecord]) -> None:
        record = self.model.nodes.get(nid)
        if record is not None and record.nid not in self.ops:
            self.ops[record.nid] = record
            queue.append(record)

    def edges(self) -> list[Edge]:
        """Return the links among what was chosen."""
        found: list[Edge] = []
        for op in self.ops.values():
            for to, output_nr, carried in _targets(self.model, op):
                found.append(Edge(op.id, to.id, "next", output_nr, carried))
            for tid in op.inputs:
                used = self.model.tensors.get(tid)
                if used is not None and not used.requires_grad:
                    found.append(Edge(op.id, used.id, "data"))
        for tensor in self.tensors.values():
            found.extend(self._tensor_edges(tensor))
        return found

    def _tensor_edges(self, tensor: TensorRecord) -> list[Edge]:
        found: list[Edge] = []
        node = self.model.nodes.get(tensor.nid)
        if node is not None:
            found.append(Edge(tensor.id, node.id, "output", tensor.seen.output_nr))
        base = self.model.tensors.get(tensor.seen.base)
        if base is not None and base.index != tensor.index:
            found.append(Edge(tensor.id, base.id, "base"))
        if not tensor.requires_grad:
            for tid in tensor.inputs:
                above = self.model.tensors.get(tid)
                if above is None or above is tensor:
                    continue
                cut = _differentiable(self.model, tid)
                found.append(Edge(tensor.id, above.id, "cut" if cut else "data"))
        return found


def _targets(model: Model, op: NodeRecord) -> Iterator[tuple[NodeRecord | TensorRecord, int, bool]]:
    """Yield what a node's edges lead to; a non-leaf tensor stands for its node."""
    for to, output_nr, carried in op.links:
        if isinstance(to, TensorRecord) and to.nid >= 0:
            behind = model.nodes.get(to.nid)
            if behind is not None:
                yield behind, output_nr, carried or behind is op
        else:
            yield to, output_nr, carried or to is op


def _differentiable(model: Model, tid: int) -> bool:
    """Tell whether a gradient was lost at this input: it, or what it came from, had one."""
    record = model.tensors.get(tid)
    return record is not None and (record.requires_grad or state_of(model, record) == "constant")


def _takes_part(record: TensorRecord) -> bool:
    if not record.used and not any(name.line is not None for name in record.names):
        return False
    if record.requires_grad:
        return True
    return any_current(record) or bool(record.path)


def _was_an_item(record: TensorRecord) -> bool:
    """Tell whether a tensor is data in a container that a loop has gone past."""
    data = not (record.requires_grad or record.registered or any_current(record))
    return data and "[" in record.path


def state_of(model: Model, record: TensorRecord) -> State:
    """Tell the state of a tensor; see `leafmagic.graph.STATES`."""
    if not record.requires_grad:
        return "constant" if _was_cut(model, record) else "frozen leaf"
    if not record.is_leaf:
        return "retained" if record.retains_grad else "non-leaf"
    base = model.tensors.get(record.seen.base)
    if base is not None and base.requires_grad:
        return "phantom leaf"
    if record.names and not any_current(record) and not record.path:
        return "dead name"
    return "leaf"


def _was_cut(model: Model, record: TensorRecord) -> bool:
    """Tell whether a tensor without grad was computed from one with grad."""
    seen = {record.tid}
    queue = [record]
    for current in queue:
        for tid in current.inputs:
            above = model.tensors.get(tid)
            if above is None or tid in seen or above.made.ordinal > current.made.ordinal:
                continue
            if above.requires_grad:
                return True
            seen.add(tid)
            queue.append(above)
            if len(queue) > 200:
                return False
    return False


def _where(place: Place | None) -> dict[str, Any]:
    if place is None:
        return {}
    return {
        "line": place.line,
        "end_line": place.end_line,
        "column": place.column,
        "end_column": place.end_column,
        "cell": place.label,
        "source": place.source,
    }


def _tensor_node(model: Model, record: TensorRecord, ran: Ran) -> Node:
    where = _where(model.place(record.made.site))
    if not where and record.names:
        first = next((n for n in record.names if n.line is not None), record.names[0])
        where = {"line": first.line, "cell": first.label or None, "source": first.source}
    writes = (model.line(moment.site) for moment in record.writes)
    base = model.tensors.get(record.seen.base)
    return Node(
        id=record.id,
        kind="tensor",
        name=best_name(record),
        op=record.made.what,
        state=state_of(model, record),
        shape=tuple(int(size) for size in record.seen.shape),
        dtype=str(record.seen.dtype).removeprefix("torch."),
        device=str(record.seen.device),
        is_leaf=record.is_leaf,
        requires_grad=record.requires_grad,
        retains_grad=record.retains_grad,
        version=record.version,
        module=record.path if record.registered else None,
        hooks=record.hooks,
        has_grad=record.has_grad,
        grad_norm=record.grad_norm,
        preview=record.preview,
        grad_preview=record.grad_preview,
        names=tuple(Binding(n.name, n.line, n.current) for n in record.names),
        base=None if base is None else base.id,
        writes=tuple(line for line in writes if line is not None),
        count=record.count,
        **_gradient(model, record),
        **ran._asdict(),
        **where,
    )


def _gradient(model: Model, record: TensorRecord) -> dict[str, Any]:
    """Return what is known of the gradient of a tensor over the steps of a loop."""
    trends = model.trends
    if not record.is_leaf:
        node = model.nodes.get(record.nid)
        trend = None if node is None or record.seen.output_nr else trends.nodes.get(node.index)
        return {} if trend is None else {"stats": trend.stats, "trend": tuple(trend.norms)}
    facts: dict[str, Any] = {}
    trend = trends.leaves.get(record.index)
    if trend is not None:
        facts = {"stats": trend.stats, "trend": tuple(trend.norms)}
    account = model.gradients.of(record.tid)
    if account is None or not account.known:
        # It lost sight of what repeats, or the leaf is made anew in each step.
        return facts if account is None and trend is None else {**facts, "passes": None}
    if not (account.last or account.cleared):
        return facts
    state: GradState = "fresh"
    if account.last is None:
        state = "cleared"
    elif account.stepped is not None and account.stepped.ordinal > account.last.ordinal:
        state = "used"
    facts.update(passes=account.passes, grad_state=state)
    for what, moment in (("stepped_line", account.stepped), ("cleared_line", account.cleared)):
        facts[what] = None if moment is None else model.line(moment.site)
    return facts


def _op_node(
    model: Model, record: NodeRecord, named: TensorRecord | None, ran: Callable[[Any], Ran]
) -> Node:
    where = _where(model.place(record.made.site))
    if not where and named is not None:
        first = named.names[0]
        where = {"line": first.line, "cell": first.label or None}
    shape, mine = None, ran(record)
    for tid in record.outputs:
        made = model.tensors.get(tid)
        if made is not None and made.nid == record.nid:
            shape = tuple(int(size) for size in made.seen.shape)
            mine = mine._replace(shapes=ran(made).shapes)
            break
    trend = model.trends.nodes.get(record.index)
    return Node(
        id=record.id,
        kind="op",
        name=record.seen.name or record.op,
        op=record.op or _SUFFIX.sub("", record.seen.name).lower(),
        state="op",
        shape=shape,
        requires_grad=True,
        stats=None if trend is None else trend.stats,
        trend=() if trend is None else tuple(trend.norms),
        breaks=model.trends.births.get(record.index, ""),
        # What comes along with another node in one op is not counted by itself.
        count=max(record.count, mine.ran),
        **mine._asdict(),
        **where,
    )

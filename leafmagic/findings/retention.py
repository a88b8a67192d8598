"""Graphs that pile up: in a sum, or in a list, of computed tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from leafmagic.cell import Place
from leafmagic.findings import adding, fixes
from leafmagic.findings.base import Finding, Rule, Severity, register
from leafmagic.findings.growing import announced, freed, freed_below, may_end
from leafmagic.findings.judging import OfKept
from leafmagic.findings.reaching import values_behind
from leafmagic.findings.source import Source, source_at
from leafmagic.looks import Finished, Kept, StepsShown
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import NodeRecord, Pass, TensorRecord, best_name
from leafmagic.shared import children, walk_behind

_ROUNDS = 3
GATHERING = ("Add", "Sub", "Cat", "Stack", "Hstack", "Vstack")
_MOST_STEPS = 10_000
_ADDS = ("append", "add", "insert", "appendleft", "extend")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@register
class GraphSummed(Rule):
    """A sum of losses, or of outputs, that keeps the graph of every iteration.

    ``total += loss`` makes ``total`` a tensor whose graph leads to the loss of every
    iteration, with all that its ops saved. Where nobody runs backward from the sum, a
    number will do.

    Failing cell::

        w = torch.ones(2, requires_grad=True)
        total = 0
        for _ in range(4):
            loss = (w.exp() ** 2).sum()
            loss.backward()
            w.grad = None
            total += loss
        print(total)

    Fixed::

        w = torch.ones(2, requires_grad=True)
        total = 0
        for _ in range(4):
            loss = (w.exp() ** 2).sum()
            loss.backward()
            w.grad = None
            total += loss.item()
        print(total)

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    kind = "memory_retention"
    code = "LM601"
    events = (StepsShown, Finished)

    def __init__(self) -> None:
        self._announced: set[int | None] = set()

    def check(self, event: StepsShown | Finished, model: Model) -> Iterator[Finding]:
        """Judge at the end: a sum that is backpropagated is no mistake.

        Before that, where no backward could run from it: what it was made of is freed.
        """
        running = isinstance(event, StepsShown)
        over: set[int] | None = None
        told: set[int] = set()
        # The newest first: its chain holds all those before it, and is judged for all.
        for record in reversed(model.slots.records):
            node = model.nodes.get(record.nid)
            if node is None or not record.names or not node.seen.name.startswith(GATHERING):
                continue
            line = model.line(record.made.site)
            if line is None or line in told:
                continue
            told.add(line)
            added = _added(model, node)
            if added is None or added.rounds < _ROUNDS:
                continue
            if over is None:
                over = passed_over(model)
            if node.index in over or not _in_turns(model, record):
                continue
            if running and not (added.stepwise and freed_below(model, node)):
                continue
            yield self._told(model, record, added)

    def _told(self, model: Model, record: TensorRecord, added: _Added) -> Finding:
        place = model.place(record.made.site)
        name = best_name(record)
        if place is not None and place.targets:
            name = place.targets[0]
        # Where no backward ran in between, the sum may be meant for one.
        used = added.stepwise
        number = "item()" if record.seen.shape == () else "detach()"
        mend = adding.numbered(place, name, number)
        told = f"`{name}` is attached to the graphs of {added.rounds} iterations, with all that "
        return self.finding(
            f"{told}their ops saved; no backward runs from it."
            if used
            else f"{told}their ops saved. If no backward is to run from it, a number will do.",
            fix=mend.fix,
            variable=name,
            cause=place,
            record=record,
            severity="warning" if used else "info",
            count=announced(self._announced, record.made.site),
            edits=mend.edits,
        )


def _in_turns(model: Model, record: TensorRecord) -> bool:
    """Tell whether a loop, or a call, runs the statement again; not ``sum()`` by itself."""
    place = model.place(record.made.site)
    if place is None or place.kind not in ("AugAssign", "BinOp", "Call"):
        return False
    if place.kind == "Call" and not place.targets:
        return False
    if place.source.startswith("sum("):
        return False
    return bool(place.targets)


class _Added(NamedTuple):
    """How a sum goes on from what it was before: how often, and whether over passes."""

    rounds: int
    stepwise: bool


def _added(model: Model, node: NodeRecord) -> _Added | None:
    """Tell how often a node was added to what itself, or its like, had made before.

    What is added must not be computed from the sum: a residual stream is no sum.
    """
    rounds, current = 1, node
    while rounds < _MOST_STEPS:
        before = _before(model, current, closely=rounds <= _ROUNDS)
        if before is None:
            break
        found, carried = before
        if carried:
            # The first is added to a number, which is another op.
            ran = [n.count for n in model.slots.node_records if _is_like(n, node)]
            return _Added(max(sum(ran), rounds + 1), stepwise=True)
        rounds, current = rounds + 1, found
    return _Added(rounds, stepwise=False) if rounds > 1 else None


def _is_like(one: NodeRecord, other: NodeRecord) -> bool:
    return one.made.site == other.made.site and one.seen.name == other.seen.name


def _before(model: Model, node: NodeRecord, *, closely: bool) -> tuple[NodeRecord, bool] | None:
    """Return the node of the sum before, and whether it is the same slot in an earlier step.

    What is added is looked through only if `closely`: it may be as large as the rest.
    """
    line, kind = model.line(node.made.site), node.seen.name
    sides: list[tuple[NodeRecord, NodeRecord, bool]] = []
    for child in children(model, node):
        step, carried = child.node, child.carried
        if step.seen.name.startswith(("Mul", "Div")) and model.line(step.made.site) == line:
            # A running average: the sum before is behind a factor.
            sides += [
                (step, below.node, carried or below.carried)
                for below in children(model, step)
                if below.node.seen.name == kind
            ]
        sides.append((step, step, carried))
    for side, found, carried in sides:
        same = found.index == node.index and carried
        like = found.seen.name == kind and found.made.site == node.made.site
        if not same and not (like and not carried and found.index != node.index):
            continue
        others = [one.node for one in children(model, node) if one.node.index != side.index]
        if not closely or not any(_leads_to(model, other, found) for other in others):
            return found, same
    return None


def _leads_to(model: Model, start: NodeRecord, goal: NodeRecord) -> bool:
    return any(node.index == goal.index for node in walk_behind(model, start, _MOST_STEPS))


def passed_over(model: Model) -> set[int]:
    """Return the nodes that some pass of the trace came to, by index."""
    return {node.index for one in _unlike(model) for node in reach(model, one.roots).nodes}


def _unlike(model: Model) -> list[Pass]:
    """Return the passes of a trace, of those from one place and one slot the newest."""
    found: dict[tuple[int, tuple[int, ...]], Pass] = {}
    for one in model.passes:
        roots = [record.index for record in map(model.tensor, one.roots) if record is not None]
        found[one.site, tuple(roots)] = one
    return list(found.values())


@register
class GraphsCollected(OfKept):
    """Computed tensors that are collected in a list or dict, with their graphs.

    Each item leads to all that its ops saved. For a plot, a metric or a printout the
    values are enough: ``detach()`` them, or take ``item()``.

    Failing cell::

        w = torch.ones(1000, requires_grad=True)
        losses = []
        for _ in range(4):
            loss = w.exp().sum()
            loss.backward()
            w.grad = None
            losses.append(loss)

    Fixed::

        w = torch.ones(1000, requires_grad=True)
        losses = []
        for _ in range(4):
            loss = w.exp().sum()
            loss.backward()
            w.grad = None
            losses.append(loss.item())

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    kind = "memory_retention"
    code = "LM602"
    how = "container"

    def __init__(self) -> None:
        super().__init__()
        self._announced: set[int | None] = set()

    def kept(self, event: Kept, model: Model) -> Iterator[Finding]:
        """Look at a container when all is known."""
        records = [r for r in map(model.tensor, event.tids) if r is not None and r.nid >= 0]
        severity = _how_grave(model, records)
        if severity is None:
            return
        if event.running and not (severity == "warning" and _is_spent(model, records[-1])):
            return
        newest = records[-1]
        made = model.place(newest.made.site)
        stored = self._stored(event.name, made, best_name(newest))
        if stored is None:
            return
        source, container, item = stored
        item = _inner(source, item, best_name(newest))
        if event.running and may_end(source.place(item), container, bindings=0):
            return
        place = source.place(item)
        words = source.words(item)
        number = "item()" if newest.seen.shape == () else "detach()"
        new = fixes.chained(words, number)
        plain = isinstance(item, ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.BinOp)
        edits = fixes.replace_expression(place, new) if plain else ()
        whole = fixes.pasted(place, edits) if edits else ""
        yield self.finding(
            f"`{container}` holds {event.size} computed tensors, each with its graph and all that "
            "its ops saved"
            + ("." if severity == "warning" else "; for their values alone, detach them."),
            fix=whole or f"put .{number[:-2]}() on the tensor that goes into `{container}`",
            variable=container,
            cause=place,
            record=newest,
            severity=severity,
            count=announced(self._announced, place.line),
            edits=edits,
        )

    def _stored(
        self, path: str, made: Place | None, name: str
    ) -> tuple[Source, str, ast.expr] | None:
        """Find where a loop puts something into a container: the text, its words, the item."""
        sources = [source_at(made)] if made is not None else []
        sources += self.texts()
        last = path.replace("]", "").replace("[", ".").split(".")[-1].strip("'\"")
        near: tuple[Source, str, ast.expr] | None = None
        for source in sources:
            for container, item in stores(source):
                words = source.words(container)
                end = words.replace("]", "").replace("[", ".").split(".")[-1].strip("'\"")
                if words == path or end == last:
                    return source, words, item
                if name and near is None and source.words(item) == name:
                    near = source, words, item
        return near


def stores(source: Source, *, anywhere: bool = False) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the containers that get one item more in each turn of a loop, or each call."""
    for node in source.nodes:
        found: tuple[ast.expr, ast.expr] | None = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _ADDS and node.args:
                found = node.func.value, node.args[-1]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            found = node.targets[0].value, node.value
        elif isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List):
            found = node.target, node.value
        again = (*_LOOPS, ast.FunctionDef)
        inside = anywhere or any(isinstance(above, again) for above in source.parents(node))
        if found is not None and inside:
            yield found


def _inner(source: Source, item: ast.expr, name: str) -> ast.expr:
    """Return the part of a tuple, list or dict that has a name; else all of it."""
    parts: list[ast.expr | None] = []
    if isinstance(item, ast.Tuple | ast.List):
        parts = list(item.elts)
    elif isinstance(item, ast.Dict):
        parts = list(item.values)
    found = [part for part in parts if part is not None and source.words(part) == name]
    return found[0] if len(found) == 1 else item


def _is_spent(model: Model, record: TensorRecord) -> bool:
    """Tell whether the graph of a tensor is freed, so that no backward can run from it."""
    node = model.nodes.get(record.nid)
    return node is not None and node.index in freed(model)


def _how_grave(model: Model, records: list[TensorRecord]) -> Severity | None:
    """Tell how sure it is that nobody needs the graphs: a severity, or nothing.

    Items of one step have slots of their own, and one backward may be meant for all of
    them. Items of many steps share the slot of the newest.
    """
    if not records:
        return None
    newest = records[-1]
    node = model.nodes.get(newest.nid)
    if node is None:
        return None
    steps = len({record.index for record in records}) == 1 and newest.count >= _ROUNDS
    reaching = [
        one
        for one in _unlike(model)
        if one.finished and any(n.index == node.index for n in reach(model, one.roots).nodes)
    ]
    if reaching:
        times = {
            one.site: sum(p.times for p in model.passes if p.site == one.site) for one in reaching
        }
        # One pass for each item, not one for all of them.
        return "warning" if steps and min(times.values()) >= newest.count - 1 else None
    if steps:
        return "warning"
    # A loss has their values without their graphs, by a copy: then the graphs are needed.
    roots = [tid for one in _unlike(model) for tid in one.roots]
    return None if newest.index in values_behind(model, roots) else "info"

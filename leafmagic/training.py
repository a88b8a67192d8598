"""From the model of a trace to what is shown of a training loop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from leafmagic.graph import AutogradGraph, Node, in_json
from leafmagic.looks import Held
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import TensorRecord, any_current, best_name
from leafmagic.trends import Root

LONGEST_CURVE = 200
_MOST_PARAMETERS = 20_000
_RATE_OVER_S = 3.0


def training_of(model: Model, graph: AutogradGraph) -> dict[str, Any]:
    """Return what the steps of a loop add up to, as JSON-ready values.

    Parameters
    ----------
    model : Model
    graph : AutogradGraph
        Built from it.

    Returns
    -------
    dict
        ``steps``, ``per_s``, ``roots`` (one for each place where passes begin) and
        ``parameters``; empty where no pass ran.
    """
    trends = model.trends
    if not trends.roots:
        return {}
    boxes = {node.id: node for node in graph.nodes}
    main = max(trends.roots.values(), key=lambda root: (root.what == "backward", root.steps))
    return {
        "steps": trends.steps,
        "per_s": rate(main),
        "roots": [_root(model, root, boxes) for root in trends.roots.values()],
        "parameters": _table(model, boxes),
    }


def rate(root: Root) -> float | None:
    """Return how many steps a second ran of late; None where that cannot be known."""
    times = root.curve.newest("at", 128)
    late = [at for at in times if at >= times[-1] - _RATE_OVER_S] if times else []
    if len(late) < 2:
        late = times[-2:]
    if len(late) < 2 or late[-1] <= late[0]:
        return None
    return round((len(late) - 1) / (late[-1] - late[0]), 3)


def curve_of(root: Root) -> list[list[Any]]:
    """Return (step, value) over the whole run, where it is known, evenly thinned."""
    rows = [(int(step), value) for step, value, known, _ in root.rows() if known]
    if len(rows) > LONGEST_CURVE:
        # All of the newest are there, and of older ones a few.
        first, last, broke = rows[0][0], rows[-1][0], {row[0] for row in root.broke}
        room = LONGEST_CURVE - 2 - len(broke)
        gap, due, even = (last - first) / room, float(first), []
        for row in rows[:-1]:
            if row[0] in broke:
                even.append(row)
            elif row[0] >= due:
                even.append(row)
                due = max(due, row[0] - gap) + gap
        rows = [*even, rows[-1]]
    return [[step, in_json(value)] for step, value in rows]


def _root(model: Model, root: Root, boxes: Mapping[str, Node]) -> dict[str, Any]:
    tids = _tids(model, root)
    record = model.tensors.get(tids[0]) if tids else None
    place = model.place(root.site)
    rows = root.curve.newest("value", 1), root.curve.newest("known", 1)
    return {
        "key": f"p{root.site}",
        "name": name_of_root(model, root),
        "line": None if place is None else place.line,
        "node": record.id if record is not None and record.id in boxes else None,
        "steps": root.steps,
        "last": in_json(rows[0][0]) if rows[1] == [1.0] else None,
        "curve": curve_of(root),
        "nodes": list(_way(model, tids, boxes)),
    }


def _tids(model: Model, root: Root) -> tuple[int, ...]:
    """Return what the newest pass from a place began at."""
    newest = next((one for one in reversed(model.passes) if one.site == root.site), None)
    return () if newest is None else newest.roots


def name_of_root(model: Model, root: Root) -> str:
    """Return what to call the passes from a place."""
    tids = _tids(model, root)
    record = model.tensors.get(tids[0]) if tids else None
    name = "" if record is None else best_name(record)
    place = model.place(root.site)
    if not name and place is not None:
        # Of `criterion(out, y).backward()` what is left of the dot, and of
        # `torch.autograd.grad(out.sum(), x)` what it was given first.
        given = place.operands[place.owner.rpartition(".")[2] == "autograd" :]
        name = next(iter(given), "")
    return name or root.what


def _way(model: Model, tids: tuple[int, ...], boxes: Mapping[str, Node]) -> Iterator[str]:
    """Yield the boxes that a pass goes through, and the data that its ops use."""
    behind = reach(model, tids)
    found = dict.fromkeys([leaf.id for leaf in behind.leaves])
    for node in behind.nodes:
        found[node.id] = None
        for tid in (*node.outputs, *node.inputs):
            record = model.tensors.get(tid)
            if record is not None:
                found[record.id] = None
    for tid in tids:
        record = model.tensors.get(tid)
        if record is not None:
            found[record.id] = None
    yield from (name for name in found if name in boxes)


def _table(model: Model, boxes: Mapping[str, Node]) -> list[dict[str, Any]]:
    """Describe the parameters of modules and the named leaves that are trained.

    Those of one module stand together, in the order in which the modules have them. What
    the trace did not meet is known when it has ended. What other code left behind in the
    namespace, and takes no part here, is left out.
    """
    part = _taking_part(model)
    near = [held for held in model.held if held.tid in part]
    roots = {held.root for held in near}
    optimizers = {one for held in near for one in held.optimizers}
    beside = [
        held
        for held in model.held
        if held.root in roots or not optimizers.isdisjoint(held.optimizers)
    ]
    part.update(held.tid for held in beside)
    found = [
        record
        for record in model.slots.records
        if (record.seen.parameter and record.registered and (not model.held or record.tid in part))
        or (
            record.is_leaf
            and record.requires_grad
            and record.tid in part
            and (any_current(record) or record.path)
        )
    ]
    rows = {r.tid: _parameter(model, r, boxes) for r in found[:_MOST_PARAMETERS]}
    table: dict[Any, dict[str, Any]] = {}
    for held in beside[:_MOST_PARAMETERS]:
        if not held.parameter or not held.registered:
            continue
        if held.tid in rows:
            table[held.tid] = rows[held.tid]
        elif held.tid < 0:
            table[held.path] = _unmet(held)
    return [*{**table, **rows}.values()]


def _taking_part(model: Model) -> set[int]:
    """Return the tids of what the code made, computed with, or touched."""
    part: set[int] = set()
    for record in model.slots.records:
        part.update(record.inputs)
        touched = record.made.site or record.used or record.cleared or record.writes
        if touched or model.gradients.of(record.tid) is not None:
            part.add(record.tid)
    for node in model.nodes.values():
        part.update(node.inputs)
    return part


def _unmet(held: Held) -> dict[str, Any]:
    """Describe a parameter that nothing was computed with."""
    return {
        "id": None,
        "name": held.path,
        "module": held.path.rpartition(".")[0],
        "shape": list(held.shape),
        "size": math.prod(held.shape),
        "norm": None,
        "update": None,
        "trend": [],
        "passes": 0,
        "state": "never reached" if held.requires_grad else "frozen",
    }


def _parameter(model: Model, record: TensorRecord, boxes: Mapping[str, Node]) -> dict[str, Any]:
    name = best_name(record)
    trend = model.trends.leaves.get(record.index)
    stats = None if trend is None else trend.stats
    account = model.gradients.of(record.tid)
    passes: int | None = 0 if account is None and trend is None else None
    if account is not None and account.known:
        passes = account.passes
    shape = [int(size) for size in record.seen.shape]
    kept = None if account is None else account.kept
    state = _state(model, record, (passes or 0) > (0 if kept is None else kept.passes))
    norm = stats.norm if record.grad_norm is None and stats else record.grad_norm
    return {
        "id": record.id if record.id in boxes else None,
        "name": name,
        "module": name.rpartition(".")[0] if record.registered else "",
        "shape": shape,
        "size": math.prod(shape),
        # A gradient that an earlier cell left is none of this one's.
        "norm": None if state == "never reached" else in_json(norm),
        "update": None if stats is None else in_json(stats.update),
        "trend": [] if trend is None else [in_json(norm) for norm in trend.norms],
        "passes": passes,
        "state": state,
    }


def _state(model: Model, record: TensorRecord, added: bool) -> str:
    if not record.requires_grad:
        return "frozen"
    if added or (record.has_grad and not record.old_grad) or record.index in model.trends.leaves:
        return "trained"
    return "never reached" if model.trends.steps else "no gradient yet"

"""The steps of a loop as data to compute with: summaries, arrays, a table."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from leafmagic.graph import in_json
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name
from leafmagic.training import name_of_root
from leafmagic.trends import LEAF_COLUMNS as STORED

if TYPE_CHECKING:
    import pandas

LEAF_COLUMNS = (*STORED[:-2], "line", "order")
MOST_STEPS = 128
"""So many of the newest steps are summed up one by one."""


class Step(NamedTuple):
    """One backward pass of a loop.

    Attributes
    ----------
    step : int
        Its number among the passes from its line, from 1.
    name : str
        The tensor that it began at.
    line : int or None
        Where it was called.
    value : float or None
        Of that tensor, if it is one number that was known on the CPU.
    at : float
        Seconds since the first pass of the trace.
    """

    step: int
    name: str
    line: int | None
    value: float | None
    at: float


class Steps:
    """The newest steps of a loop, in the order in which they ran.

    Attributes
    ----------
    count : int
        How many steps there were: the passes from the line that ran most of them. Of
        earlier ones nothing is kept but what `Trace.history` gives.
    """

    def __init__(self, count: int, newest: Sequence[Step]) -> None:
        self.count = count
        self._newest = tuple(newest)

    def __len__(self) -> int:
        """Return how many are summed up."""
        return len(self._newest)

    def __iter__(self) -> Iterator[Step]:
        """Go through those that are summed up, oldest first."""
        return iter(self._newest)

    def __getitem__(self, index: int) -> Step:
        """Return one by its place among those that are summed up."""
        return self._newest[index]

    def __repr__(self) -> str:
        """Say how many there were, and the newest."""
        last = f"; last: {self._newest[-1]}" if self._newest else ""
        return f"<{self.count} steps{last}>"


def histories_of(model: Model) -> dict[str, Any]:
    """Return all that is kept of the steps of a loop, as JSON-ready values.

    Returns
    -------
    dict
        ``roots``: a list with ``name``, ``line``, ``steps`` and the columns ``step``,
        ``value``, ``at`` of each; ``leaves`` and ``ops``: columns by name or id.
    """
    trends, slots = model.trends, model.slots
    curves = [root.curve for root in trends.roots.values()]
    first = min([at for curve in curves for at in curve.column("at")[:1]], default=0.0)
    roots = []
    for root in trends.roots.values():
        place = model.place(root.site)
        rows = root.rows()
        roots.append({
            "name": name_of_root(model, root),
            "line": None if place is None else place.line,
            "steps": root.steps,
            "step": [int(row[0]) for row in rows],
            "value": [in_json(row[1]) if row[2] else None for row in rows],
            "at": [round(row[3] - first, 6) for row in rows],
        })  # fmt: skip
    ops: dict[str, Any] = {}
    for node in slots.node_records:
        trend = trends.nodes.get(node.index)
        if trend is not None:
            columns = {"step": list(trend.steps), "norm": list(map(in_json, trend.norms))}
            ops[node.id] = columns
            for tid in node.outputs:
                made = model.tensors.get(tid)
                if made is not None and made.nid == node.nid and best_name(made):
                    ops.setdefault(best_name(made), columns)
    for name, columns in _results(model):
        ops.setdefault(name, columns)
    return {"roots": roots, "leaves": _leaves(model), "ops": ops}


def _results(model: Model) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the names that ``g, = autograd.grad(…)`` binds, with the columns of each."""
    newest = {one.site: one for one in model.passes if one.what == "grad"}
    for site, one in newest.items():
        place = model.place(site)
        targets = () if place is None else place.targets
        for name, tid in zip(targets, one.inputs, strict=False):
            record = model.tensors.get(tid)
            trend = None if record is None else model.trends.leaves.get(record.index)
            if trend is not None and trend.series is not None and len(targets) == len(one.inputs):
                at = STORED.index("site")
                rows = [row for row in trend.series if row[at] == site]
                if rows:
                    yield name, _columns(model, rows)


def _leaves(model: Model) -> dict[str, Any]:
    """Return the columns of each leaf.

    Leaves of one name and shape, such as those of a model made anew for each fold, are
    one. Where the shapes differ too, the newest has the name alone.
    """
    found: dict[str, dict[tuple[int, ...], list[tuple[float, ...]]]] = {}
    measured = [r for r in model.slots.records if r.index in model.trends.leaves]
    # One that came and went between two looks at the names has that of its place.
    alike: dict[tuple[Any, ...], set[str]] = {}
    for record in measured:
        if best_name(record):
            alike.setdefault(_kind(record), set()).add(best_name(record))
    for record in measured:
        names = alike.get(_kind(record), set())
        name = best_name(record) or (next(iter(names)) if len(names) == 1 else record.id)
        trend = model.trends.leaves.get(record.index)
        if trend is not None and trend.series is not None:
            shapes = found.setdefault(name, {})
            rows = shapes.pop(tuple(record.seen.shape), [])
            shapes[tuple(record.seen.shape)] = [*rows, *trend.series]
    leaves: dict[str, Any] = {}
    for name, shapes in found.items():
        newest = next(reversed(shapes))
        for shape, rows in shapes.items():
            rows.sort(key=lambda row: row[-1])
            leaves[name if shape is newest else f"{name} {list(shape)}"] = _columns(model, rows)
    return leaves


def _kind(record: TensorRecord) -> tuple[Any, ...]:
    return record.made.site, record.seen.parameter, tuple(record.seen.shape)


def _columns(model: Model, rows: list[tuple[float, ...]]) -> dict[str, Any]:
    """Turn the rows of a leaf into columns, and places into lines."""
    columns = {
        name: list(map(in_json, values))
        for name, values in zip(STORED, zip(*rows, strict=True), strict=True)
    }
    sites = [int(row[STORED.index("site")]) for row in rows]
    places = {site: model.place(site) for site in set(sites)}
    lines = {site: None if place is None else place.line for site, place in places.items()}
    columns["line"] = [lines[site] for site in sites]
    return {name: columns[name] for name in LEAF_COLUMNS}


def steps_in(histories: Mapping[str, Any], count: int) -> Steps:
    """Return the newest steps."""
    found = [
        Step(step, root["name"], root["line"], None if value is None else float(value), at)
        for root in histories.get("roots", ())
        for step, value, at in zip(root["step"], root["value"], root["at"], strict=True)
        if step > root["steps"] - MOST_STEPS
    ]
    found.sort(key=lambda step: step.at)
    return Steps(count, found[-MOST_STEPS:])


def history_in(histories: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the columns of one name as arrays.

    Raises
    ------
    KeyError
        If nothing was measured under that name.
    """
    roots = [root for root in histories.get("roots", ()) if root["name"] == name]
    for kind in ("leaves", "roots", "ops"):
        columns = _joined(roots) if kind == "roots" else histories.get(kind, {}).get(name)
        if columns:
            return {key: _array(values) for key, values in columns.items()}
    known = ", ".join(names_in(histories)) or "nothing"
    raise KeyError(f"nothing was measured of {name!r}; there is {known}")


def _joined(roots: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the columns of the passes that began at one name, from whatever lines."""
    rows = [
        (step, value, at, root["line"])
        for root in roots
        for step, value, at in zip(root["step"], root["value"], root["at"], strict=True)
    ]
    rows.sort(key=lambda row: row[2])
    return dict(zip(("step", "value", "at", "line"), zip(*rows, strict=True), strict=False))


def names_in(histories: Mapping[str, Any]) -> list[str]:
    """Return the names that `history_in` knows, those of leaves first."""
    names = [*histories.get("leaves", {}), *(root["name"] for root in histories.get("roots", ()))]
    names += [name for name in histories.get("ops", {}) if not name[1:].isdigit()]
    return list(dict.fromkeys(names))


def frame_of(histories: Mapping[str, Any]) -> pandas.DataFrame:
    """Return what was measured of all leaves as one table.

    Raises
    ------
    ImportError
        If pandas is not installed.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise ImportError("to_dataframe() needs pandas: pip install pandas") from None
    rows = list(_rows(histories))
    whole = {"step": "int64", "line": "Int64", "order": "Int64"}
    return pandas.DataFrame(rows, columns=["name", *LEAF_COLUMNS]).astype(whole)


def _rows(histories: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    for name, columns in histories.get("leaves", {}).items():
        unknown = [None] * len(columns["step"])
        for row in zip(*(columns.get(key, unknown) for key in LEAF_COLUMNS), strict=True):
            yield (name, *map(_float, row))


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _array(values: Sequence[Any]) -> Any:
    import numpy

    return numpy.array(list(map(_float, values)), dtype=float)

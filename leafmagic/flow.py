"""Which variables reach the losses of a cell: what its next run is compared with."""

from __future__ import annotations

from collections.abc import Iterable

from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import Pass, TensorRecord, best_name
from leafmagic.session import Flow, Loss

MOST_LOSSES = 5
MOST_NAMES = 200


def passes_of(model: Model) -> list[Pass]:
    """Return the newest pass of each place that came to its end, the newest first."""
    found: dict[int, Pass] = {}
    for known in reversed(model.passes):
        if known.finished and not known.failed and len(found) < MOST_LOSSES:
            found.setdefault(known.site, known)
    return list(found.values())


def losses_of(model: Model) -> list[tuple[str, tuple[int, ...]]]:
    """Return what backward began at, by name; without a pass, the last scalar with a name.

    A root that has no name goes by an empty one.
    """
    found = [(_name_of(model, known), known.roots) for known in passes_of(model)]
    if found:
        return found
    made = [record for record in model.slots.records if record.made.what and record.nid >= 0]
    scalars = [record for record in made if len(record.seen.shape) == 0]
    for record in reversed(scalars):
        named = [name.name for name in record.names if name.current and not name.scope]
        if named:
            return [(named[-1], (record.tid,))]
    return []


def flow_of(model: Model) -> Flow | None:
    """Describe what reached the losses of a trace; None where it had none."""
    losses: dict[str, Loss] = {}
    for name, roots in losses_of(model):
        if name not in losses:
            reached, leaves = names_reaching(model, roots)
            # Of very many the cell's own variables rather than paths of parameters.
            kept = sorted(reached - {name}, key=lambda word: ("." in word, word))[:MOST_NAMES]
            losses[name] = Loss(
                name, frozenset(kept), frozenset(leaves.intersection(kept)), bool(model.passes)
            )
    return Flow(model.run, tuple(losses.values())) if losses else None


def names_reaching(model: Model, roots: Iterable[int]) -> tuple[set[str], set[str]]:
    """Return the variables that backward from the roots gets to, and which of them are leaves."""
    found = reach(model, roots)
    nodes = {node.nid for node in found.nodes}
    leaves = {word for record in found.leaves for word in names_of(record)}
    names = set(leaves)
    for record in model.slots.records:
        if record.nid >= 0 and record.nid in nodes:
            names.update(names_of(record))
    return names, leaves


def names_of(record: TensorRecord) -> set[str]:
    """Return the variables of the cell that stand for a tensor, and a parameter's path."""
    names = {name.name for name in record.names if not name.scope}
    return names | {record.path} if record.path and record.is_leaf else names


def _name_of(model: Model, known: Pass) -> str:
    record = model.tensors.get(known.roots[0]) if len(known.roots) == 1 else None
    name = "" if record is None else best_name(record)
    place = model.place(known.site)
    spelt = "" if place is None or place.scope else place.owner
    return spelt if spelt.isidentifier() else name

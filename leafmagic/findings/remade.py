"""Leaves that were made again under their name while an optimizer keeps the older ones."""

from __future__ import annotations

from leafmagic.findings.reaching import Reaching, Steps, values_behind
from leafmagic.looks import OptimizerSeen, Wired
from leafmagic.model import Model
from leafmagic.records import TensorRecord


def remade(
    steps: Steps, seen: OptimizerSeen, event: Wired, known: Reaching, model: Model
) -> list[tuple[str, TensorRecord]]:
    """Return variables that get gradients, and of which an optimizer has an older tensor.

    Of an older tensor that the trace saw named, the name must be the same. One from another
    cell has no name any more: then nothing that the optimizer has may be in use.
    """
    dead = not steps.had and seen.stale == seen.size
    idle = [r for tid in steps.idle - steps.had if (r := model.tensor(tid)) is not None]
    old = [r for r in idle if not r.path and not any(name.current for name in r.names)]
    given = {tid for other in known.steps.values() for tid in (*other.had, *other.idle)}
    given |= {one.tid for one in event.held}
    found: list[tuple[str, TensorRecord]] = []
    for record in model.slots.records if old else ():
        names = [one.name for one in record.names if one.current and not one.scope]
        if (
            names
            and record.is_leaf
            and record.requires_grad
            and record.tid not in given
            and known.is_reached(record)
            and not known.was_updated(record)
            and any(_was(one, names[-1], record, dead=dead) for one in old)
            # Of a copy of the older one it is told that the copy cuts the graph.
            and values_behind(model, [record.tid]).keys().isdisjoint(r.index for r in old)
        ):
            found.append((names[-1], record))
    return found


def _was(old: TensorRecord, name: str, new: TensorRecord, *, dead: bool) -> bool:
    """Tell whether a tensor that an optimizer has is what a variable was before."""
    same = (old.seen.shape, old.seen.dtype) == (new.seen.shape, new.seen.dtype)
    known = {one.name for one in old.names}
    return name in known if known else same and dead

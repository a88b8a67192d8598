"""Leaves that were made again under their name while an optimizer keeps the older ones."""

from __future__ import annotations

import ast

from leafmagic.edits import Edit
from leafmagic.findings import fixes, flagging
from leafmagic.findings.reaching import Reaching, Steps, values_behind
from leafmagic.findings.texts import text_at
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


def left_behind(
    steps: Steps, seen: OptimizerSeen, known: Reaching, model: Model
) -> list[tuple[str, TensorRecord]]:
    """Return variables that were made anew after an optimizer had stepped with them.

    In its newest step it found no gradient at all, and nothing that it has is in use.
    """
    if not steps.last or steps.last[0] or seen.stale != seen.size:
        return []
    old = [r for tid in steps.last[1] if (r := model.tensor(tid)) is not None and not r.path]
    given = {tid for other in known.steps.values() for tid in (*other.had, *other.idle)}
    found: dict[str, TensorRecord] = {}
    for record in model.slots.records if old else ():
        names = [one.name for one in record.names if not one.scope]
        if (
            names
            and not record.path
            and record.is_leaf
            and record.requires_grad
            and given.isdisjoint((record.tid, record.previous))
            and known.is_reached(record)
            and not known.was_updated(record)
            and any(_was(one, names[-1], record, dead=True) for one in old)
        ):
            found[names[-1]] = record
    return list(found.items())


def kept_in_place(record: TensorRecord, name: str, model: Model) -> tuple[str, tuple[Edit, ...]]:
    """Return a line that writes to a leaf what it is made anew from, and its edits."""
    newest = model.tensor(model.names.get(("", name), -1)) or record
    made = model.place(newest.made.site)
    text = None if made is None else text_at(made)
    statement = None if made is None or text is None else text.statement(made)
    if made is None or text is None or not isinstance(statement, ast.Assign):
        return "", ()
    source = text.words(statement.value)
    value, flag, _ = flagging.bare(source)
    own = [node for node in ast.walk(statement.value) if isinstance(node, ast.Name)]
    targets = [text.words(target) for target in statement.targets]
    if targets != [name] or not flag or name not in {node.id for node in own}:
        return "", ()
    line = f"with torch.no_grad(): {name}.copy_({value})"
    return line, fixes.replace_statement(made, line.replace(": ", ":\n    ", 1))


def _was(old: TensorRecord, name: str, new: TensorRecord, *, dead: bool) -> bool:
    """Tell whether a tensor that an optimizer has is what a variable was before."""
    same = (old.seen.shape, old.seen.dtype) == (new.seen.shape, new.seen.dtype)
    known = {one.name for one in old.names}
    return name in known if known else same and dead

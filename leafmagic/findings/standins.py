"""Losses of plain numbers that a new leaf was put into, so that backward does not raise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from leafmagic.cell import Place
from leafmagic.findings.ends import missed, named, sunk_into, word_for
from leafmagic.findings.flows import words_in
from leafmagic.findings.leaves import leaves_behind, made_at
from leafmagic.findings.reaching import newest_passes, reaching, values_behind
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import Pass, TensorRecord, best_name

_CONSTANTS = frozenset({"ones", "zeros", "full", "tensor", "scalar_tensor", "ones_like"})
_JOINED = frozenset({"mul", "add", "sub"})


class StandIn(NamedTuple):
    """A leaf that stands for the graph that a loss has lost, in the words of the cell."""

    message: str
    fix: str
    variable: str
    cause: Place
    symptom: int | None
    record: TensorRecord


def stand_ins(model: Model) -> Iterator[StandIn]:
    """Yield, at the end of a trace, the passes that reached nothing but such a leaf."""
    for one in newest_passes(model):
        root = model.tensor(one.roots[0]) if len(one.roots) == 1 else None
        if root is None or one.what != "backward" or one.inputs:
            continue
        found = _leaf_of(one, root, model)
        if found is None:
            continue
        told = _told(one, root, found, model)
        if told is not None:
            yield told


def _leaf_of(one: Pass, root: TensorRecord, model: Model) -> TensorRecord | None:
    """Return the only leaf that a pass reached, if nothing wants its gradient."""
    known = reaching(model)
    leaves = [root] if root.is_leaf else list(reach(model, one.roots).leaves)
    leaf = leaves[0] if len(leaves) == 1 else None
    if leaf is None or leaf.registered or leaf.seen.parameter or leaf.tid in known.filled:
        return None
    if {leaf.index} & (known.read | known.asked.keys()) or known.was_updated(leaf):
        return None
    if any(leaf.tid in (*steps.had, *steps.idle) for steps in known.steps.values()):
        return None
    if leaf is root:
        return leaf
    # A scale that is learnt is no constant; one of this cell, with one element, is none.
    single = all(int(size) == 1 for size in leaf.seen.shape)
    constant = leaf.made.site and leaf.made.what in _CONSTANTS and single
    return leaf if constant and root.made.what in _JOINED and leaf.tid in root.inputs else None


def _told(one: Pass, root: TensorRecord, leaf: TensorRecord, model: Model) -> StandIn | None:
    known = reaching(model)
    for record in values_behind(model, one.roots).values():
        made = made_at(model, record)
        if made is None:
            continue
        words = {bound.name for bound in record.names}
        for text in [bound.source for bound in record.names] + [made.source, made.statement]:
            words |= words_in(text)
        sunk = sunk_into(model, words, made)
        if sunk is None:
            continue
        name, sink, cut = sunk
        above = [cut.above, *values_behind(model, [cut.above.tid]).values()]
        behind = [r for r in above if r.requires_grad and r.nid >= 0]
        leaves = leaves_behind(model, behind[0]) if behind else []
        told = {miss.leaf.index for miss in missed(model)}
        if not leaves or any(known.is_reached(r) or r.index in told for r in leaves):
            continue
        place, loss = model.place(one.site), best_name(root) or word_for(model, root)
        only = "itself" if leaf is root else f"`{best_name(leaf)}`"
        op = sink.source if len(sink.source) <= 60 else sink.attribute
        tensor = sink.owner.removesuffix(".detach()") if sink.owner else op
        return StandIn(
            f"{named(leaves)} get no gradient: `{op}` at line {sink.line} makes plain numbers, and "
            f"backward from `{loss}` reaches {only} only.",
            f"compute `{loss}` from `{tensor}` as a tensor, without numbers or NumPy in between; "
            f"then it has a graph, and {only if leaf is not root else 'it'} need not require grad",
            best_name(leaves[0]) or name,
            sink,
            None if place is None else place.line,
            leaves[0],
        )
    return None

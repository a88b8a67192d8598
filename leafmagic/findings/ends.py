"""Where the path from a leaf to a loss ends, and by what."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from leafmagic.cell import Place
from leafmagic.findings.flows import Switch, goes_to, origins, switched_off, words_in
from leafmagic.findings.phantoms import bases_of_phantoms
from leafmagic.findings.reaching import (
    Reaching,
    children_of,
    newest_passes,
    parents,
    reaching,
    texts_at,
    values_behind,
)
from leafmagic.findings.source import source_at
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import TensorRecord, any_current, best_name
from leafmagic.statements import lines_of

How = Literal["copy", "detach", "data", "no_grad", "number", "integer", "other"]
"""What ends a path."""

COPIES = frozenset({"tensor", "as_tensor", "asarray", "new_tensor"})
"""Functions that copy the values of the tensors they are given, and nothing else."""

NO_GRAPH = "does not require grad and does not have a grad_fn"
"""What torch says of a root that it cannot go back from."""

_UNUSED = "appears to not have been used in the graph"
_INDEX = re.compile(r"at index (\d+)")
_MOST = 5_000


@dataclass(frozen=True, slots=True)
class Cut:
    """An op whose result is not connected to what it was computed from.

    Attributes
    ----------
    how : str
    above, below : TensorRecord
        What requires grad, and the result; a number has no record, and then they are one.
    place : Place or None
        Of the op.
    """

    how: How
    above: TensorRecord
    below: TensorRecord
    place: Place | None

    def switch(self, model: Model) -> Switch | None:
        """Return what had switched grad mode off, where the text shows it."""
        if self.how != "no_grad" or self.place is None:
            return None
        called = [model.place(known.site) for known in model.passes[:1] + model.passes[-1:]]
        return switched_off(texts_at(self.place, *called), self.place)


@dataclass(frozen=True, slots=True)
class Missed:
    """A leaf that no pass reached, though something shows that it was meant to be.

    Attributes
    ----------
    asked : Place or None
        Where its gradient was read.
    optimizer : str
        Class of an optimizer that stepped without it.
    stepped : Place or None
    cut : Cut or None
        Where the path to the loss ends; None where the leaf is not used for the loss.
    used : TensorRecord or None
        What was computed from it, if that is not part of the loss.
    earlier : Earlier or None
        What an earlier cell made of it, without a graph.
    """

    leaf: TensorRecord
    asked: Place | None
    optimizer: str
    stepped: Place | None
    cut: Cut | None
    used: TensorRecord | None
    earlier: Earlier | None = None


class Earlier(NamedTuple):
    """A tensor without a graph that a loss uses, and that an earlier cell made."""

    name: str
    place: Place


def cut_at(model: Model, known: Reaching, record: TensorRecord) -> Cut | None:
    """Tell whether a tensor was computed from what requires grad, and lost the connection."""
    if record.nid >= 0:
        return None
    above = next((p for p in parents(model, record) if p.requires_grad), None)
    op = record.made.what
    if above is None or record.seen.base == above.tid:
        return None
    place = model.place(record.made.site)
    if record.index in known.alias_sites:
        return Cut("data", above, record, model.place(known.alias_sites[record.index]))
    if not op:
        return None
    how: How = "other"
    if op in ("detach", "detach_"):
        how = "detach"
    elif not record.grad_enabled:
        how = "no_grad"
    elif op in COPIES:
        how = "copy"
    elif not _can_require_grad(record) or op in ("sign", "round", "floor", "ceil", "trunc"):
        how = "integer"
    return Cut(how, above, record, place)


def _can_require_grad(record: TensorRecord) -> bool:
    dtype = str(record.seen.dtype)
    return "float" in dtype or "complex" in dtype


def first_cut(model: Model, roots: Iterable[int]) -> tuple[Cut, list[TensorRecord]] | None:
    """Walk back from roots without a graph to the nearest op that cut it.

    Returns
    -------
    cut : Cut
    path : list of TensorRecord
        From the cut's result to the root.
    """
    known = reaching(model)
    queue = [record for tid in roots if (record := model.tensors.get(tid)) is not None]
    via: dict[int, TensorRecord | None] = {record.index: None for record in queue}
    for record in queue:
        cut = cut_at(model, known, record)
        if cut is not None:
            path = [record]
            while (step := via[path[-1].index]) is not None:
                path.append(step)
            return cut, path
        for above in parents(model, record):
            if above.index not in via and len(via) < _MOST:
                via[above.index] = record
                queue.append(above)
    return None


def sunk_into(model: Model, names: set[str], place: Place) -> tuple[str, Place, Cut] | None:
    """Find the op that turned a tensor into a number which then got to names of a line.

    Returns
    -------
    name : str
        What the number is called.
    place : Place
    cut : Cut
    """
    by_index = {record.index: record for record in model.slots.records}
    sinks = [
        (index, op, at)
        for index, op, site in reaching(model).sinks
        if (at := model.place(site)) is not None and at.filename == place.filename
    ]
    for index, _, at in sinks:
        record = by_index.get(index)
        if at.line == place.line and record is not None:
            return "", at, Cut("number", record, record, at)
    for flow in origins(source_at(place), names):
        for index, op, at in sinks:
            record = by_index.get(index)
            if flow.line <= at.line <= flow.end_line and record is not None:
                return min(flow.targets, default=op), at, Cut("number", record, record, at)
    return None


def missed(model: Model) -> list[Missed]:
    """Return the leaves that were meant to get a gradient, and that no pass reached.

    To be asked when a trace ends; asked again it does not look again.
    """
    known = reaching(model)
    if known.missed is None:
        roots = [tid for one in newest_passes(model) for tid in one.roots]
        known.missed = Search(model, known, roots).all() if known.began else []
    found: list[Missed] = known.missed
    return found


def path_of(
    model: Model, record: TensorRecord, roots: Iterable[int]
) -> tuple[Cut | None, TensorRecord | None]:
    """Return what cuts the path from a tensor to roots, or what else was made of it."""
    return Search(model, reaching(model), roots).follow(record)


class Search:
    """Looks from unreached leaves down to the losses of a trace."""

    def __init__(self, model: Model, known: Reaching, roots: Iterable[int]) -> None:
        self.model, self.known = model, known
        self.roots = tuple(roots)
        self.values = values_behind(model, self.roots)
        self.children = children_of(model)
        self.sinks: dict[int, list[Place]] = {}
        for index, _, site in known.sinks:
            place = model.place(site)
            if place is not None:
                self.sinks.setdefault(index, []).append(place)

    def all(self) -> list[Missed]:
        """Return what was missed, in the order in which it was made."""
        model, known = self.model, self.known
        found: list[Missed] = []
        through: set[int] | None = None
        for record in model.slots.records:
            if not (record.is_leaf and record.requires_grad) or known.is_reached(record):
                continue
            base = model.tensors.get(record.seen.base)
            if base is not None and base.requires_grad:
                continue  # a view that only looks like a leaf
            asked = known.asked.get(record.index)
            idle = known.idle_in(record)
            if (asked is None and idle is None) or known.was_updated(record):
                continue
            if through is None:
                through = bases_of_phantoms(model, self.roots)
            if record.tid in through:
                continue  # It is used, by a view that only looks like a leaf; told as such.
            cut, used = self.follow(record)
            # What was replaced, and is held by the optimizer alone, is used no more.
            held = record.tid in known.held or any_current(record)
            if asked is None and cut is None and not held:
                continue
            found.append(
                Missed(
                    record,
                    None if asked is None else model.place(asked),
                    "" if idle is None else idle.name,
                    None if idle is None else model.place(idle.site),
                    cut,
                    used,
                    None if asked is None or cut or used else self.earlier(record),
                )
            )
        return found

    def earlier(self, leaf: TensorRecord) -> Earlier | None:
        """Look for what an earlier cell made, in a line that names the leaf's module."""
        word = re.split(r"[.\[]", best_name(leaf))[0]
        made = self.model.session.made
        for record in self.values.values():
            known = made.get(record.tid)
            if known is None or known.line is None or record.requires_grad or record.inputs:
                continue
            if _can_require_grad(record) and word and word in words_in(known.source):
                place = Place(
                    "", known.label, "<module>", known.line, known.line, text=known.source
                )
                return Earlier(known.name or best_name(record), place)
        return None

    def follow(self, leaf: TensorRecord) -> tuple[Cut | None, TensorRecord | None]:
        """Walk from a leaf towards the losses; return where the path ends."""
        queue, seen = [leaf], {leaf.index}
        last: TensorRecord | None = None
        for record in queue:
            for place in self.sinks.get(record.index, ()):
                if self.number_gets_in(place):
                    return Cut("number", record, record, place), None
            for child in self.children.get(record.index, ()):
                if child.index in seen or len(seen) > _MOST:
                    continue
                seen.add(child.index)
                if child.nid >= 0:
                    queue.append(child)
                    last = child
                    continue
                cut = cut_at(self.model, self.known, child)
                if cut is not None and self._gets_in(child):
                    return cut, None
        return None, last

    def _gets_in(self, record: TensorRecord) -> bool:
        """Tell whether the values of a tensor got into a loss, be it as numbers."""
        queue, seen = [record], {record.index}
        for one in queue:
            if one.index in self.values:
                return True
            if any(map(self.number_gets_in, self.sinks.get(one.index, ()))):
                return True
            for child in self.children.get(one.index, ()):
                if child.index not in seen and len(seen) < _MOST:
                    seen.add(child.index)
                    queue.append(child)
        return False

    def number_gets_in(self, place: Place) -> bool:
        """Tell whether the number that a line made is used for a loss, by its names."""
        names = goes_to(source_at(place), place.line)
        for record in self.values.values():
            at = self.model.place(record.made.site)
            if at is None or at.filename != place.filename:
                continue
            if at.line == place.line and record.made.ordinal:
                inside = place.source and place.source in at.source and at.source != place.source
                if inside:
                    return True
            if names & words_in(at.source):
                return True
        return False


def unused_inputs(event: Raised, model: Model) -> Iterator[tuple[TensorRecord, int]]:
    """Yield what a refused ``autograd.grad`` was asked for and that is not in the graph."""
    if _UNUSED not in event.text or not model.passes:
        return
    asked = model.passes[-1].inputs
    given = _INDEX.search(event.text)
    if given is not None:
        numbers = [int(given.group(1))]
    else:
        found = reach(model, event.inputs)
        there = {leaf.index for leaf in found.leaves}
        nodes = {node.nid for node in found.nodes}
        numbers = [
            i
            for i, tid in enumerate(asked)
            if (r := model.tensor(tid)) is not None and r.index not in there and r.nid not in nodes
        ][:1]
    for index in numbers:
        record = model.tensor(asked[index]) if index < len(asked) else None
        if record is not None:
            yield record, index


def word_for(model: Model, record: TensorRecord, path: Iterable[TensorRecord] = ()) -> str:
    """Return what to call a tensor: its name, one further on in its line, or its source."""
    place = model.place(record.made.site)
    for one in (record, *path):
        at = model.place(one.made.site)
        if place is not None and at is not None and at.line == place.line:
            here = [n.name for n in one.names if (n.line, n.label) == (place.line, place.label)]
            if here:
                return here[0]
    name = best_name(record)
    if name:
        return name
    for later in path:
        at = model.place(later.made.site)
        if place is not None and at is not None and at.line == place.line and best_name(later):
            return best_name(later)
    if place is None:
        return record.made.what
    if len(place.targets) == 1:
        return place.targets[0]
    return place.source if len(place.source) <= 60 else record.made.what


def bound_at(record: TensorRecord, near: Place | None) -> Place | None:
    """Return the line that gave a tensor its name, where torch did not see it being made.

    Parameters
    ----------
    near : Place
        Of the same cell.
    """
    bound = [name for name in record.names if name.line is not None and not name.scope]
    if not bound or near is None or bound[0].label != near.label:
        return None
    line = bound[0].line or 1
    lines = lines_of(source_at(near).text)
    text = lines[line - 1] if line <= len(lines) else ""
    return Place(
        near.filename, near.label, "<module>", line, line, source=bound[0].source, text=text
    )


def named(records: Iterable[TensorRecord]) -> str:
    """List tensors by name, three of them at most."""
    names = [f"`{name}`" for name in dict.fromkeys(map(best_name, records)) if name]
    if len(names) > 3:
        return f"{', '.join(names[:2])} and {len(names) - 2} more"
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:2])} and {names[2]}"

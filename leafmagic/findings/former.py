"""Graphs of earlier cells: where nodes were made, and who wrote to what they saved."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from leafmagic.bygone import NodeAt, Operand
from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes, rewrites
from leafmagic.findings.base import Finding, Rule
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.records import NodeRecord, best_name
from leafmagic.session import PassOver

_SHAPE = re.compile(r"\[[\w.]+ \[([\d, ]*)\]\]")
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


class Wrote(NamedTuple):
    """A write to what a node saved.

    Attributes
    ----------
    place : Place
    what : str
        The op.
    when : tuple of int
        The run, and the ordinal in it.
    """

    place: Place
    what: str
    when: tuple[int, int]


class Change(NamedTuple):
    """What a node of an earlier cell saved, and who wrote to it since.

    Attributes
    ----------
    node : NodeRecord
    slot : str
    made : NodeAt
    saved : Operand
    name : str
        What the tensor is called.
    writes : tuple of Wrote
        The oldest first; empty where none was traced.
    text : str
        torch's words.
    """

    node: NodeRecord
    slot: str
    made: NodeAt
    saved: Operand
    name: str
    writes: tuple[Wrote, ...]
    text: str


def place_of_node(model: Model, node: NodeRecord) -> Place | None:
    """Return where a node was made, be it in an earlier cell."""
    made = model.session.bygone.nodes.get(node.nid)
    if made is not None and made.run != model.run:
        found: Place = made.place
        return found
    return model.place(node.made.site) if node.made.what else None


def place_of_write(model: Model, site: int) -> Place | None:
    """Return where a write that torch did not count stands, be it in an earlier cell."""
    if site >= 0:
        return model.place(site)
    wrote = model.session.bygone.unseen.get(site)
    found: Place | None = None if wrote is None else wrote.place
    return found


def where(model: Model, place: Place | None) -> str:
    """Return ``"line 4"``, or ``"line 4 of Cell In[2]"`` where that is another cell."""
    if place is None:
        return "an earlier line"
    here = model.session.label(model.run)
    return f"line {place.line}{f' of {place.label}' if here and place.label != here else ''}"


def is_here(model: Model, place: Place) -> bool:
    """Tell whether a place is one of the code that is traced, and may be edited there."""
    here = model.session.label(model.run)
    return not here or place.label == here


def changed(model: Model, node: NodeRecord, slot: str, text: str) -> Change | None:
    """Return what was changed that a node saved; None if the node is none of an earlier cell.

    Parameters
    ----------
    slot, text : str
        Where torch found it, and its words; the shape tells apart several candidates.
    """
    made = model.session.bygone.nodes.get(node.nid)
    if made is None or made.run == model.run:
        return None
    match = _SHAPE.search(text)
    wanted = None
    if match is not None:
        wanted = [int(part) for part in match.group(1).split(",") if part.strip()]
    found: list[tuple[int, Operand, tuple[Wrote, ...]]] = []
    for one in made.operands:
        if wanted is not None and math.prod(one.shape) != math.prod(wanted):
            continue
        writes = _writes(model, made, one)
        # What is saved may be a view: the transpose of a weight, a batch with fewer axes.
        like = sorted(one.shape) == sorted(wanted or ())
        exact = list(one.shape) == wanted
        role = one.made is (slot == "result")
        found.append((8 * bool(writes) + 4 * like + 2 * role + exact, one, writes))
    if not found:
        return None
    found.sort(key=lambda known: -known[0])
    rank, saved, writes = found[0]
    if not writes and len(found) > 1 and found[1][0] == rank:
        return None  # Which of them it was cannot be told.
    record = model.tensor(saved.tid)
    known = model.session.made.get(saved.tid)
    name = (best_name(record) if record is not None else "") or saved.name
    name = name or ("" if known is None else known.name)
    return Change(node, slot, made, saved, name or "what it was given", writes, text)


def _writes(model: Model, made: NodeAt, saved: Operand) -> tuple[Wrote, ...]:
    """Return what was written to the memory of an operand since an op ran."""
    session = model.session
    found = [
        Wrote(one.place, one.what, (one.run, one.ordinal))
        for one in session.bygone.writes.get(saved.root, ())
        if (one.run, one.ordinal) > (made.run, made.ordinal) and one.run != model.run
    ]
    for record in model.slots.records:
        if record.writes and model.root(record) in (saved.root, saved.tid):
            for write in record.writes:
                place = model.place(write.site)
                if place is not None:
                    found.append(Wrote(place, write.what, (model.run, write.ordinal)))
    return tuple(sorted(found, key=lambda one: one.when))


def is_foreseen(model: Model, change: Change) -> bool:
    """Tell whether what torch would refuse is worth telling before a pass is called.

    Of a weight that an update changed torch's refusal tells more. A graph that was run
    over need not be meant for another pass.
    """
    run_over = change.node.nid in model.session.passed
    return bool(change.writes) and not change.saved.leaf and not run_over


def told(rule: Rule, model: Model, change: Change, site: int) -> Finding:
    """Say what a node of an earlier cell saved, and who wrote to it.

    Parameters
    ----------
    site : int
        Of the pass.
    """
    saved, writes = change.made.place, change.writes
    name, at = change.name, where(model, saved)
    role = "its result" if change.slot == "result" else f"`{change.slot}`"
    start = f"{change.node.seen.name} ({at}) saved `{name}` as {role} for backward; "
    numbers = _VERSIONS.search(change.text)
    then = (
        f" (version {numbers.group(2)} was saved, now it is version {numbers.group(1)})"
        if numbers
        else ""
    )
    record = model.tensor(change.saved.tid)
    if not writes:
        return rule.finding(
            f"{start}code that was not traced changed it in place since{then}.",
            fix=f"run {saved.label} again, or use {name}.clone() there",
            variable=name,
            cause=saved,
            symptom=model.line(site),
            record=record,
        )
    first = writes[0]
    lines = ", ".join(dict.fromkeys(where(model, one.place) for one in writes))
    fix, edits = _fix(model, change, saved, first)
    return rule.finding(
        f"{start}`{first.what}` changed it in place at {lines}{then}.",
        fix=fix,
        edits=edits,
        variable=name,
        cause=first.place,
        symptom=model.line(site),
        record=record,
    )


def _fix(model: Model, change: Change, saved: Place, first: Wrote) -> tuple[str, tuple[Edit, ...]]:
    """Compute the weights' graph anew; else write to a new tensor."""
    name, place = change.name, first.place
    if change.saved.leaf:
        again = f"compute anew after it what {where(model, saved)} makes"
        return f"run every backward() before the update, or {again}", ()
    fix = fixes.out_of_place(place, name)
    if not fix:
        return f"use {name}.clone() in {where(model, saved)}, or write after backward", ()
    # What was written to stays so until it is computed anew.
    at = "" if is_here(model, place) else f"in {place.label}, "
    if is_here(model, saved):
        return f"{fix}  # {at}before the pass" if at else fix, ()
    edits = () if at else rewrites.new_tensor(place, name)
    return f"{fix}  # {at}after running {saved.label} again", edits


def kept_over(event: Raised, model: Model) -> tuple[Change, PassOver] | None:
    """Find the graph of an earlier cell that a pass kept, and whose weights were updated since.

    Parameters
    ----------
    event : Raised
        torch's refusal, because something was changed in place.

    Returns
    -------
    tuple of (Change, PassOver) or None
        What was changed, from the first update after that pass on, and the pass.
    """
    for nid, slot, text in event.culprits[:3]:
        node, over = model.nodes.get(nid), model.session.passed.get(nid)
        change = None if node is None or over is None else changed(model, node, slot, text)
        if change is None or over is None or not (over.retained and change.saved.leaf):
            continue
        late = tuple(one for one in change.writes if one.when > (over.run, over.ordinal))
        if late:
            return change._replace(writes=late), over
    return None

"""Naming the piece of graph that two passes share, for the rules that tell of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import NamedTuple

from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.reach import reach
from leafmagic.records import Moment, NodeRecord, Pass, TensorRecord, best_name
from leafmagic.session import MadeAt, PassOver
from leafmagic.shared import Piece, pieces_run_over

_SAVES_NOTHING = (
    "Add", "Sub", "Rsub", "Neg", "Sum", "Mean", "View", "UnsafeView", "Reshape", "Cat", "Stack",
    "T", "Transpose", "Permute", "Expand", "Squeeze", "Unsqueeze", "Select", "Slice", "Split",
    "Unbind", "Clone", "Alias", "AsStrided", "ToCopy", "Repeat", "Flip", "Roll", "UnsafeSplit",
)  # fmt: skip
_NAMES_SAVING_NOTHING = tuple(f"{name}Backward" for name in _SAVES_NOTHING)


_ITEM = re.compile(r"([\w.]+)\[\d+\]")
_VARIABLE = re.compile(r"[^\W\d][\w.]*")
_IN_PLACE = "modified by an inplace operation"


class Told(NamedTuple):
    """A shared piece in the words of the cell.

    Attributes
    ----------
    piece : Piece
    record : TensorRecord or None
    name : str
        What to call it.
    place : Place or None
        Where it was made.
    line : int or None
        Of that place.
    made_in : str
        The cell that made it, for what was made before this trace.
    others : tuple of (str, TensorRecord or None)
        What else is shared in the same way.
    """

    piece: Piece
    record: TensorRecord | None
    name: str
    place: Place | None
    line: int | None
    made_in: str
    others: tuple[tuple[str, TensorRecord | None], ...] = ()

    @property
    def names(self) -> str:
        """Return its name and those of the others, in quotes."""
        return " and ".join(f"`{name}`" for name in self.distinct[:3])

    @property
    def distinct(self) -> list[str]:
        """Return its name and those of the others, without what stands for an item of one."""
        names = [self.name, *(name for name, _ in self.others)]
        wholes = {match.group(1) for match in map(_ITEM.fullmatch, names) if match is not None}
        return [name for name in names if name not in wholes] or names

    @property
    def tids(self) -> tuple[int, ...]:
        """The tid of its tensor, for `reach`."""
        return () if self.record is None else (self.record.tid,)

    def detached(self) -> str:
        """Return the statement that makes it without its graph; empty where there is none."""
        place = self.place
        if place is not None and place.targets == (self.name,) and not place.unpacked:
            source = place.source
            if source and "\n" not in source and not source.endswith("…"):
                return f"{self.name} = {fixes.chained(source, 'detach()')}"
        return f"{self.name} = {self.name}.detach()" if _VARIABLE.fullmatch(self.name) else ""


def statement_of(place: Place | None) -> str:
    """Return the statement around a place, where it stands by itself on one line."""
    if place is None or place.scope or not place.statement:
        return ""
    try:
        body = ast.parse(place.statement).body
    except SyntaxError:
        return ""
    return place.statement if len(body) == 1 and isinstance(body[0], ast.Assign) else ""


def last_pass(event: Raised, model: Model) -> Pass | None:
    """Return the pass that raised; None if the error is not of one."""
    if not model.passes or not event.inputs:
        return None
    last = model.passes[-1]
    return last if last.failed and last.roots == event.inputs else None


def told_of(model: Model, pieces: Iterable[Piece]) -> list[Told]:
    """Name pieces; those that torch can have refused come first, each tensor once."""
    by_name: dict[str, Told] = {}
    for piece in pieces:
        told = _told(model, piece)
        known = by_name.get(told.name)
        if known is None or (known.piece.carried and not piece.carried):
            by_name[told.name] = told
    found = sorted(
        by_name.values(),
        key=lambda told: (not _saves(model, told.piece.node), not told.name, not told.record),
    )
    alike = [told for told in found if found and told.piece.carried == found[0].piece.carried]
    return [
        told._replace(
            others=tuple([(one.name, one.record) for one in alike if one is not told and one.name])
        )
        for told in found
    ]


def _told(model: Model, piece: Piece) -> Told:
    record = piece.record or _computed_from(model, piece)
    if record is None:
        place = model.place(piece.node.made.site)
        if place is None:
            place = model.place(model.passes[-1].site)
        name = place.targets[0] if place is not None and len(place.targets) == 1 else ""
        name = name or model.name_of(model.passes[-1].roots[0]) or "the root"
        return Told(piece, None, name, place, None if place is None else place.line, "")
    name, place = best_name(record), model.place(record.made.site)
    if place is not None:
        if len(place.targets) == 1 and not place.unpacked and "." in place.targets[0]:
            name = place.targets[0]  # `self.h`, as the line that makes it says
        return Told(piece, record, name, place, place.line, "")
    made = model.session.made.get(record.tid)
    if made is not None:
        name = name or made.name
        label = model.session.label(made.run) or made.label
        return Told(piece, record, name, place_of(made), made.line, label)
    return Told(piece, record, name, None, None, "")


def _computed_from(model: Model, piece: Piece) -> TensorRecord | None:
    """Return what an earlier trace left and a piece lies behind, of which no tensor lives."""
    by_node = {record.nid: record for record in model.slots.records if best_name(record)}
    for user in piece.users:
        record = by_node.get(user.nid)
        if record is not None:
            return record if record.tid in model.session.made and not record.made.site else None
    return None


def place_of(made: MadeAt) -> Place:
    """Return a place for what an earlier trace took down."""
    line = made.line or 1
    return Place("", made.label, "<module>", line, line, statement=made.source, text=made.source)


def _saves(model: Model, node: NodeRecord) -> bool:
    """Tell whether an op at or behind a node may have saved something."""
    behind = [node, *_behind(model, node)]
    return any(not one.seen.name.startswith(_NAMES_SAVING_NOTHING) for one in behind)


def _behind(model: Model, node: NodeRecord) -> tuple[NodeRecord, ...]:
    for record in model.slots.records:
        if record.nid == node.nid:
            return reach(model, (record.tid,)).nodes
    return ()


def how_shared(piece: Piece, model: Model, last: Pass) -> str:
    """Tell how two passes come to share a piece: ``stale``, ``carried`` or ``freed``.

    Stale is what an earlier trace ran over, carried what a variable was in the step
    before, and freed any other.
    """
    if not isinstance(piece.over, Pass):
        session, record = model.session, piece.record or _computed_from(model, piece)
        made = None if record is None else session.made.get(record.tid)
        own = made is not None and session.is_rerun(model.run, made.run)
        return "carried" if own else "stale"
    return "carried" if is_carried(piece, model, last) else "freed"


def is_carried(piece: Piece, model: Model, last: Pass) -> bool:
    """Tell whether a piece is what a variable was in the step before."""
    record, over = piece.record, piece.over
    if not isinstance(over, Pass) or piece.is_root:
        return False
    if record is not None and record.tid in over.roots and over.site != last.site:
        return False
    if piece.carried or record is None:
        return piece.carried
    if over.site == last.site and _is_taken_over(piece.node, over, model):
        return True
    now = {node.index for node in reach(model, last.roots).nodes}
    for name in record.names:
        held = model.tensors.get(model.names.get((name.scope, name.name), -1))
        if held is None or held is record:
            continue
        node = model.nodes.get(held.nid)
        if node is not None and node.index in now and held.made.ordinal > over.finished:
            return True
    return False


def _is_taken_over(node: NodeRecord, over: Pass, model: Model) -> bool:
    """Tell whether the line that made a node ran again after a pass, and went on from it."""
    line = model.line(node.made.site)
    return any(
        later.made.ordinal > over.finished
        and model.line(later.made.site) == line
        and any(link.to is node for link in later.links)
        for later in model.nodes.values()
    )


def kept_piece(event: Raised, model: Model) -> tuple[Told, Moment] | None:
    """Find the piece of graph that was kept while a weight that it saved was updated.

    Parameters
    ----------
    event : Raised
        torch's refusal, because something was changed in place.

    Returns
    -------
    tuple of (Told, Moment) or None
        The piece and the update. None where the graph is new, and the write in its midst
        is the mistake.
    """
    last = last_pass(event, model)
    if last is None or _IN_PLACE not in event.text:
        return None
    root = model.tensor(last.roots[0])
    for told in told_of(model, pieces_run_over(model, last, _is_kept)):
        over = told.piece.over
        if not isinstance(over, Pass):
            continue
        again = told.piece.is_root and over.roots == last.roots
        for leaf in reach(model, told.tids).leaves:
            late = [write for write in leaf.writes if write.ordinal > over.finished]
            if not late or not _saved_by(event, model, leaf):
                continue
            if again or (root is not None and root.made.ordinal > late[0].ordinal):
                return told, late[0]
    return None


def _is_kept(one: Pass | PassOver) -> bool:
    return isinstance(one, Pass) and one.retain_graph


def _saved_by(event: Raised, model: Model, leaf: TensorRecord) -> bool:
    """Tell whether torch may have meant a leaf: a node that is known leads to it, or none is."""
    nodes = [model.nodes.get(nid) for nid, _, _ in event.culprits]
    known = [node for node in nodes if node is not None]
    return not known or any(
        leaf.index in {one.index for one in _leaves_behind(node)} for node in known
    )


def _leaves_behind(node: NodeRecord) -> list[TensorRecord]:
    """Return the leaves that a node's own edges come to through views such as ``t()``."""
    found: list[TensorRecord] = []
    queue = [node]
    for current in queue:
        for link in current.links:
            if isinstance(link.to, NodeRecord):
                if link.to.seen.name.startswith(_NAMES_SAVING_NOTHING) and len(queue) < 50:
                    queue.append(link.to)
            elif link.to.is_leaf:
                found.append(link.to)
    return found

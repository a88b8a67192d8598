"""Writing in place where autograd needs the old value, or the leaf itself."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from leafmagic.breaks import Foreseen
from leafmagic.cell import Place, is_module_word
from leafmagic.events import WriteAttempted
from leafmagic.findings import fixes, former, leafwrites, rewrites
from leafmagic.findings.base import Finding, Rule, Severity, register
from leafmagic.findings.pieces import kept_piece
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.records import Moment, NodeRecord, TensorRecord, best_name

_HARMLESS = {
    "detach_",
    "rename_",
    "requires_grad_",
    "resize_",
    "resize_as_",
    "set_",
    "share_memory_",
}
"""In-place by name, yet allowed on a leaf that requires grad, or refused for another reason."""

_REFUSALS = (
    "leaf Variable that requires grad",
    # Of a view whose base may be a leaf; that counts.
    "is a view and is being modified inplace",
)
_SHAPE = re.compile(r"\[[\w.]+ \[([\d, ]*)\]\]")
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")


@register
class LeafInplace(Rule):
    """Changing a leaf that requires grad in place, with grad mode on.

    A leaf has no history; an in-place op that autograd records would give it one, so
    torch refuses. An update or an initialisation belongs under ``torch.no_grad()``;
    a computation belongs in a new tensor.

    Failing cell::

        w = torch.ones(3, requires_grad=True)
        w -= 0.1               # RuntimeError

    Fixed::

        w = torch.ones(3, requires_grad=True)
        with torch.no_grad():
            w -= 0.1

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
    """

    kind = "leaf_inplace"
    code = "LM201"
    severity = "error"
    events = (WriteAttempted, Raised)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at in-place ops before they run, and at torch's refusal."""
        if isinstance(event, Raised):
            if event.culprits:
                yield from self._by_an_op(event, model)
                return
            if not any(words in event.text for words in _REFUSALS):
                return
            wrote, op = event.inputs[:1], event.op
        else:
            if event.op in _HARMLESS:
                return
            wrote, op = event.wrote, event.op
        for tid in wrote:
            record = model.tensor(tid)
            leaf = None if record is None else leafwrites.leaf_under(model, record)
            if record is not None and leaf is not None:
                yield self._told(event, model, op, record, leaf)

    def _told(
        self, event: Any, model: Model, op: str, record: TensorRecord, leaf: TensorRecord
    ) -> Finding:
        place = model.place(event.site)
        variable = _written_name(place, event.direct, record, leaf)
        if leaf is record:
            what = f"`{variable}` is a leaf that requires grad"
        else:
            what = f"this writes through a view into `{variable}`, a leaf that requires grad"
        call = "assignment to its elements" if op == "setitem" else f"`{op}`"
        fix, edits = leafwrites.way(event, model, place, leaf, variable)
        return self.finding(
            f"{what}; with grad mode on {call} would have to be recorded, and torch refuses.",
            fix=fix,
            edits=edits,
            variable=variable,
            cause=place,
            record=leaf,
            # The refusal of a write that was announced is not a second one.
            count=0 if isinstance(event, Raised) else 1,
        )

    def _by_an_op(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Tell of a leaf that an op changed which does not look in-place."""
        for node, _, text in culprits(event, model):
            changed = changed_since(model, node, text)
            if changed is None or not writes_unasked(*changed):
                continue
            record, writes = changed
            place, saved = model.place(writes[0].site), model.line(node.made.site)
            variable = best_name(record)
            why = " (max_norm renormalises its rows)" if writes[0].what == "embedding" else ""
            yield self.finding(
                f"`{writes[0].what}` changed the leaf `{variable}` in place{why}, after line "
                f"{saved} had saved it for backward.",
                fix=f"{variable}.clone() in line {saved}, or run line {saved} after this line",
                edits=rewrites.cloned(model.place(node.made.site), variable),
                variable=variable,
                cause=place,
                symptom=model.line(event.site),
                record=record,
            )


def writes_unasked(record: TensorRecord, writes: list[Moment]) -> bool:
    """Tell whether an op wrote to a leaf though its name does not say that it writes."""
    op = writes[0].what
    return (
        record.is_leaf
        and record.requires_grad
        and not op.endswith("_")
        and op not in ("setitem", "step")
    )


def culprits(event: Raised | Foreseen, model: Model) -> Iterator[tuple[NodeRecord, str, str]]:
    """Yield the nodes whose saved tensors were changed, with slot and torch's words."""
    for nid, slot, text in event.culprits[:3]:
        node = model.nodes.get(nid)
        if node is not None:
            yield node, slot, text


def _written_name(
    place: Place | None, direct: bool, record: TensorRecord, leaf: TensorRecord
) -> str:
    """Return what the cell calls the leaf that is written."""
    if place is not None and direct and leaf is record:
        out = fixes.keyword(place, "out")
        if out:
            return out
        if place.kind == "AugAssign" and place.operands:
            return place.operands[0]
        if place.kind in ("Call", "Subscript", "Delete") and place.operands:
            words = [word for word in place.operands if not is_module_word(word)]
            if words:
                # Not the value of a flag that was given first.
                return next((word for word in words if fixes.is_kept(word)), words[0])
    known = best_name(leaf)
    if known:
        return known
    return place.owner.split("[")[0] if place is not None and place.owner else "this tensor"


@register
class SavedTensorMutated(Rule):
    """A tensor that backward needs was changed in place.

    Many ops save their inputs or their result for backward. torch counts the in-place
    writes to each tensor (its version) and refuses where a saved one has changed since.

    Failing cell::

        x = torch.zeros(2, requires_grad=True)
        a = torch.exp(x)       # exp saves its result
        a += 1                 # changed in place
        a.sum().backward()     # RuntimeError

    Fixed::

        x = torch.zeros(2, requires_grad=True)
        a = torch.exp(x)
        a = a + 1              # a new tensor
        a.sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
    """

    kind = "saved_tensor_mutated"
    code = "LM202"
    severity = "error"
    events = (Foreseen, Raised)

    def __init__(self) -> None:
        self._foreseen = 0

    def check(self, event: Raised | Foreseen, model: Model) -> Iterator[Finding]:
        """Find who saved the tensor and who wrote to it."""
        if isinstance(event, Raised) and (
            kept_piece(event, model) is not None or former.kept_over(event, model) is not None
        ):
            return  # `StaleGraph` tells of it.
        told = 0 if isinstance(event, Raised) and event.site == self._foreseen else 1
        self._foreseen = 0
        for node, slot, text in culprits(event, model):
            before = former.changed(model, node, slot, text)
            if before is not None:
                if isinstance(event, Foreseen):
                    if not former.is_foreseen(model, before):
                        continue
                    self._foreseen = event.site
                finding = former.told(self, model, before, event.site)
                gravity = _gravity(event, model)
                if gravity == "warning" and not before.saved.grad:
                    gravity = "info"  # Data is changed, and the loss may have been looked at only.
                yield dataclasses.replace(finding, count=told, severity=gravity)
                continue
            changed = changed_since(model, node, text)
            if changed is None or writes_unasked(*changed):
                continue
            if isinstance(event, Foreseen):
                # A weight that an update changed: what torch says tells more.
                if changed[0].is_leaf and changed[0].requires_grad:
                    continue
                self._foreseen = event.site
            finding = self._told(model, event, node, slot, text, *changed)
            yield dataclasses.replace(finding, count=told, severity=_gravity(event, model))

    def _told(
        self,
        model: Model,
        event: Raised | Foreseen,
        node: NodeRecord,
        slot: str,
        text: str,
        record: TensorRecord,
        writes: list[Moment],
    ) -> Finding:
        place, saved = model.place(writes[0].site), former.place_of_node(model, node)
        name = model.name_of(record.tid) or best_name(record)
        if place is not None and place.kind == "AugAssign" and place.operands:
            name = place.operands[0]
        role = "its result" if slot == "result" else f"`{slot}`"
        where = f"line {saved.line}" if saved is not None else "an earlier line"
        lines = [line for line in (model.line(w.site) for w in writes) if line is not None]
        told = ", ".join(f"line {line}" for line in dict.fromkeys(lines))
        versions = _VERSIONS.search(text)
        then = (
            f" (version {versions.group(2)} was saved, now it is version {versions.group(1)})"
            if versions
            else ""
        )
        fix = fixes.out_of_place(place, name) if place is not None else ""
        edits = () if place is None else rewrites.new_tensor(place, name)
        edits = edits or rewrites.cloned(saved, name, result=slot == "result")
        other, made = _memory_of(model, node, record, name)
        if record.is_leaf and record.requires_grad:
            # A new tensor would be no leaf; the update comes too early.
            fix, edits = f"run every backward() before the update, or {where} after it", ()
        elif made is not None and made.source:
            copied = fixes.chained(made.source, "clone()")
            fix, edits = f"{name} = {copied}", fixes.replace_expression(made, copied)
        whose = f", which is the memory of `{other}`," if other else ""
        return self.finding(
            f"{node.seen.name} ({where}) saved `{other or name}` as {role} for backward; "
            f"`{writes[0].what}` changed {f'`{name}`{whose}' if other else 'it'} in place at "
            f"{told}{then}.",
            fix=fix or f"use {name}.clone() in {where}, or write to it after backward",
            edits=edits,
            variable=name,
            cause=place,
            symptom=model.line(event.site),
            record=record,
        )


def _memory_of(
    model: Model, node: NodeRecord, record: TensorRecord, name: str
) -> tuple[str, Place | None]:
    """Return the name of what a node saved, where another tensor of its memory was written.

    And where that other tensor was made, if a variable was bound to it there.
    """
    root = model.root(record)
    for near in _operands_of(model, node):
        other = best_name(near)
        if near.tid != record.tid and model.root(near) == root and other and other != name:
            made = model.place(record.made.site)
            bound = made is not None and made.targets == (name,)
            return other, made if bound else None
    return "", None


def _gravity(event: Raised | Foreseen, model: Model) -> Severity:
    """Return how bad it is: where no pass was run, none may be meant to."""
    if isinstance(event, Raised) or event.site:
        return "error"
    roots = [model.tensor(tid) for tid in event.inputs]
    losses = [root for root in roots if root is not None and not root.seen.shape]
    return "warning" if losses else "info"


def changed_since(
    model: Model, node: NodeRecord, text: str
) -> tuple[TensorRecord, list[Moment]] | None:
    """Return the written tensor that a node saved, and the writes since.

    Parameters
    ----------
    text : str
        torch's message; its shape tells apart several candidates.
    """
    near = _operands_of(model, node)
    roots = {model.root(record): record for record in near}
    shape = _shape_in(text)
    best: tuple[int, TensorRecord, list[Moment]] | None = None
    for record in model.tensors.values():
        late = [w for w in record.writes if w.ordinal > node.made.ordinal]
        saved = roots.get(model.root(record)) if late else None
        if saved is None:
            continue
        rank = _fit(tuple(saved.seen.shape), shape) + (record.tid == saved.tid)
        if best is None or rank > best[0]:
            best = (rank, record, late)
    return None if best is None else (best[1], best[2])


def _operands_of(model: Model, node: NodeRecord) -> list[TensorRecord]:
    tids = [*node.inputs, *node.outputs]
    if not tids:
        # A node inside a composite op: what that op was called with. Or one that was
        # made before the trace: what came out of it, and what its edges lead to.
        for other in model.nodes.values():
            if other.made.site and other.made.ordinal == node.made.ordinal and other.inputs:
                tids = [*other.inputs, *other.outputs]
                break
        if not tids:
            near = {node.nid, *(link.to.nid for link in node.links)}
            tids = [
                r.tid
                for r in model.tensors.values()
                if r.nid >= 0 and (r.nid in near or (r.writes and _leads_to(model, r, node)))
            ]
            tids += [link.to.tid for link in node.links if isinstance(link.to, TensorRecord)]
    return [record for record in map(model.tensor, tids) if record is not None]


def _leads_to(model: Model, record: TensorRecord, node: NodeRecord) -> bool:
    """Tell whether the first of the nodes behind a written tensor is a given one."""
    current = model.nodes.get(record.nid)
    for _ in range(len(record.writes) + 1):
        if current is None or current is node:
            return current is node
        first = current.links[0].to if current.links else None
        current = None if first is None else model.nodes.get(first.nid)
    return False


def _shape_in(text: str) -> tuple[int, ...] | None:
    match = _SHAPE.search(text)
    if match is None:
        return None
    return tuple(int(part) for part in match.group(1).split(",") if part.strip())


def _fit(shape: tuple[int, ...], wanted: tuple[int, ...] | None) -> int:
    if wanted is None:
        return 0
    if shape == wanted:
        return 6
    return 4 if sorted(shape) == sorted(wanted) else 0

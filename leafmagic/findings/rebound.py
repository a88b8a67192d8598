"""Updates that lose the leaf."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import Accessed, BackwardCalled, OpCalled
from leafmagic.findings import fixes, inplace, renaming, rewrites
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.ends import NO_GRAPH, first_cut
from leafmagic.findings.leaves import (
    classify_read,
    made_at,
    takes_a_gradient,
    unfilled_read,
)
from leafmagic.findings.reaching import values_behind
from leafmagic.findings.reruns import former_update
from leafmagic.findings.updating import (
    OUT_OF_PLACE,
    ItemUpdates,
    is_second_name,
    is_update,
    lost_in_a_loop,
    replaced_leaf,
)
from leafmagic.findings.wiring import REFUSED
from leafmagic.looks import Finished, Owned, Raised, Rebound
from leafmagic.model import Model
from leafmagic.records import TensorRecord

_NOT_ASKED = "One of the differentiated Tensors does not require grad"
"""What torch says of a tensor that ``autograd.grad`` is to differentiate by."""
_MOST_SAID = 1_000


def _is_used(model: Model, roots: tuple[int, ...], new: TensorRecord) -> bool:
    """Tell whether roots are computed from a tensor, other than through a new leaf."""
    queue, seen = list(roots), set(roots)
    for tid in queue:
        record = model.tensor(tid)
        if record is new:
            return True
        if record is not None and not (record.is_leaf and record.requires_grad):
            queue += [above for above in record.inputs if above not in seen]
            seen.update(record.inputs)
    return False


def _whole(place: Place) -> str:
    """Return the statement that a failed attribute stands in, where it begins with it."""
    begins = place.statement.startswith(place.source)
    return place.statement if begins else f"{place.source}(...)"


@register
class LeafRebound(Rule):
    """An update that makes a new tensor instead of changing the weight.

    ``w = w - lr * w.grad`` points the name ``w`` to the result. The leaf is gone: under
    ``no_grad`` the result does not require grad, outside it is a non-leaf. Either way
    the next ``w.grad`` is None. The same goes for ``p['w'] = p['w'] - lr * p['w'].grad``.

    Failing cell::

        w = torch.tensor(1., requires_grad=True)
        for _ in range(2):
            ((w - 8) ** 2).backward()
            w = w - 0.1 * w.grad

    Fixed::

        w = torch.tensor(1., requires_grad=True)
        for _ in range(2):
            ((w - 8) ** 2).backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
            w.grad = None

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html
    """

    kind = "leaf_rebound"
    code = "LM103"
    events = (Accessed, Rebound, Raised, BackwardCalled, Finished, Owned)
    ops = ItemUpdates.ops

    def __init__(self) -> None:
        # What was rebound may yet be made a leaf again, by the next line or in the next
        # round: it is judged when its gradient is wanted, or at the end.
        self._pending: dict[tuple[str, str], int] = {}
        self._mended: set[tuple[str, str]] = set()
        self._said: dict[str, Finding] = {}
        self._said_of: dict[str, tuple[Place, bool]] = {}
        self._said_for: dict[int, Finding] = {}
        self._updates = ItemUpdates()
        self._items: dict[int, tuple[TensorRecord, str]] = {}
        self._finished = False
        self._empty: tuple[int, int] = (-1, -1)
        """Where a `.grad` was found to be None last, and of which tensor."""

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at rebindings, at reads, and at errors from a ``.grad`` that is None."""
        if isinstance(event, OpCalled):
            yield from self._note_item(event, model)
        elif isinstance(event, Owned):
            yield from self._judge_held(event, model)
        elif isinstance(event, Rebound):
            if is_update(model, event):
                self._pending[(event.scope, event.name)] = event.new
        elif isinstance(event, Raised):
            yield from self._refused(event, model)
        elif isinstance(event, Accessed):
            if event.what == "grad":
                yield from self._judge(model, final=False)
                yield from self._read(event, model)
        else:
            self._finished = isinstance(event, Finished)
            yield from self._judge(model, final=self._finished)
            if isinstance(event, BackwardCalled):
                yield from self._judge_used(event, model)

    def _refused(self, event: Raised, model: Model) -> Iterator[Finding]:
        if "NoneType" in event.text:
            yield from self._judge(model, final=False)
            yield from self._none(event, model)
            yield from self._again(event, model)
        elif NO_GRAPH in event.text or _NOT_ASKED in event.text:
            yield from self._judge(model, final=False)
            yield from self._no_graph(event, model)
        elif (said := REFUSED.search(event.text)) is not None:
            self._forget(said.group(1), model.place(event.site), model)

    def _read(self, event: Accessed, model: Model) -> Iterator[Finding]:
        if event.value == -1:
            self._empty = event.site, event.tid
        read = unfilled_read(event, model)
        if read is None:
            return
        record, place, variable = read
        kind, meant = classify_read(model, record, place, variable)
        known = event.tid in self._updates.targets
        if known and kind in (self.kind, "nonleaf_grad_read"):
            self._items.pop(event.tid, None)
            yield self._told(model, record, self._updates.targets[event.tid], place.line)
        elif kind == self.kind and meant is not None:
            if takes_a_gradient(model, record, meant.leaf):
                yield self._told(model, record, variable, place.line)
            else:
                yield self._computed(model, record, meant.leaf, variable, place)
        elif kind == self.kind and (former := former_update(model, record, place, variable)):
            yield self._of_an_earlier_run(*former, place, record)

    def _of_an_earlier_run(
        self, made: Place, name: str, read: Place, record: TensorRecord
    ) -> Finding:
        """Tell of a name that an update turned into a non-leaf before this trace began."""
        which = "This line" if made.line == read.line else f"Line {made.line}"
        which = which if made.label == read.label else f"Line {made.line} of {made.label}"
        mend = inplace.run_again(made, name)
        again = f"then run again what makes `{name}`"
        return self.finding(
            f"{which} has made a new tensor when it ran before; `{name}` is no leaf since then, "
            f"and backward does not fill `{name}.grad`.",
            fix=f"{mend.fix}\n# {again}" if "\n" in mend.fix else f"{mend.fix}  # {again}",
            edits=mend.edits,
            variable=name,
            cause=made,
            symptom=read.line,
            record=record,
        )

    def _forget(self, name: str, place: Place | None, model: Model) -> None:
        """Forget the update of a parameter that torch refused: nothing was rebound."""
        for key, tid in list(self._pending.items()):
            if key[1].endswith(f".{name}") and _made_on(model, tid, place):
                del self._pending[key]
        for tid, (_, target) in list(self._items.items()):
            if target.endswith(f".{name}") and _made_on(model, tid, place):
                del self._items[tid]

    def _note_item(self, event: OpCalled, model: Model) -> Iterator[Finding]:
        tid = event.outputs[0] if event.outputs else -1
        if self._updates.note(event, model):
            self._items[tid] = model.tensors[tid], self._updates.targets[tid]
        elif (variable := lost_in_a_loop(model, tid)) and tid not in self._said_for:
            yield self._told(model, model.tensors[tid], variable, None)

    def _judge_used(self, event: BackwardCalled, model: Model) -> Iterator[Finding]:
        """Judge updates of items whose gradient a pass would have to give."""
        for tid, (new, target) in list(self._items.items()):
            if new.is_leaf and new.requires_grad:
                del self._items[tid]
            elif _is_used(model, event.roots, new):
                del self._items[tid]
                yield self._told(model, new, target, None)

    def _judge_held(self, event: Owned, model: Model) -> Iterator[Finding]:
        """Judge, at the end, updates of items that a container still holds."""
        for tid, (new, target) in list(self._items.items()) if self._finished else ():
            if model.tensor(event.tid) is new and not (new.is_leaf and new.requires_grad):
                del self._items[tid]
                yield self._told(model, new, target, None)

    def _again(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Repeat what was said of a name whose ``.grad`` an error is about."""
        place = model.place(event.site)
        for name, said in self._said.items():
            if place is None:
                continue
            if f"{name}.grad" in place.text or (said.cell, said.line) == (place.label, place.line):
                if place.attribute == "zero_" and name in self._said_of:
                    made, enabled = self._said_of[name]
                    edits = inplace.update(made, name, enabled, cleared=True)
                    fix = inplace.to_paste(made, name, enabled, cleared=True)
                    said = dataclasses.replace(said, fix=fix, edits=edits)
                yield dataclasses.replace(said, count=0, symptom_line=place.line)

    def _no_graph(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Explain a pass that finds no graph, since an update made a tensor without one."""
        place, found = model.place(event.site), first_cut(model, event.inputs)
        if place is None:
            return
        for step in found[1] if found is not None else ():
            if step.tid in self._items:
                yield self._told(model, *self._items.pop(step.tid), place.line)
            elif step.tid in self._said_for:
                said = self._said_for[step.tid]
                yield dataclasses.replace(said, count=0, symptom_line=place.line)
        for record in values_behind(model, event.inputs).values():
            target = "" if record.tid in self._said_for else replaced_leaf(model, record.tid)
            if target:
                yield self._told(model, record, target, place.line)

    def _judge(self, model: Model, *, final: bool) -> Iterator[Finding]:
        for key, tid in list(self._pending.items()):
            now, new = model.tensor(model.names.get(key, -1)), model.tensor(tid)
            if now is None or new is None:
                continue
            if now.is_leaf and now.requires_grad:
                self._mended.add(key)
                del self._pending[key]
            elif now is new and not (final and key in self._mended):
                del self._pending[key]
                if not is_second_name(model, new, key[1]):
                    yield self._told(model, new, key[1], None)

    def _told(self, model: Model, new: TensorRecord, variable: str, symptom: int | None) -> Finding:
        made = made_at(model, new)
        if new.retained is not None:
            now = "keeps its gradient, but each backward goes on through all updates before it"
        elif new.requires_grad:
            now = f"is a non-leaf: the next backward will not fill `{variable}.grad`"
        else:
            now = "does not require grad: it will not be trained any more"
        if made is not None and variable not in made.source:
            # Told by the name that the helper has for it, if it was.
            local = self._said.get(made.operands[0] if made.operands else "")
            if local is not None and (local.cell, local.line) == (made.label, made.line):
                return dataclasses.replace(local, count=0)
        what = "This line makes a new tensor"
        if made is not None and made.kind == "Call" and made.attribute in OUT_OF_PLACE:
            what = f"`{made.attribute}` makes a new tensor (`{made.attribute}_` writes in place)"
        if made is not None:
            self._said_of[variable] = made, new.grad_enabled
        fix, edits = "", inplace.NONE
        if made is not None and is_second_name(model, new, variable):
            # In place it would change what the leaf's own name stands for.
            again = f"{fixes.chained(fixes.words(made), 'detach()')}.requires_grad_()"
            fix, edits = f"{variable} = {again}", fixes.replace_expression(made, again)
        elif made is not None:
            fix = inplace.to_paste(made, variable, new.grad_enabled)
            edits = inplace.update(made, variable, new.grad_enabled)
        said = self.finding(
            f"{what}; `{variable}` no longer names the leaf. It {now}.",
            fix=fix,
            edits=edits,
            variable=variable,
            cause=made,
            symptom=symptom,
            record=new,
            # What comes of it later is not a second one.
            count=0 if new.tid in self._said_for else 1,
        )
        self._said[variable] = said
        self._said_for[new.tid] = said
        if len(self._said_for) > _MOST_SAID:
            del self._said_for[next(iter(self._said_for))]
        return said

    def _computed(
        self, model: Model, new: TensorRecord, leaf: TensorRecord, variable: str, read: Place
    ) -> Finding:
        """Tell of what was computed from a leaf, and took its name."""
        made, origin = made_at(model, new) or read, made_at(model, leaf)
        near = origin is not None and origin.filename == read.filename
        line = origin.line if origin is not None and near else None
        fix, edits = renaming.way(made, read, variable, line)
        said = self.finding(
            f"This line computes a new tensor, and `{variable}` no longer names the leaf"
            f"{'' if line is None else f' of line {line}'}, whose gradient is kept.",
            fix=fix,
            edits=edits,
            variable=variable,
            cause=made,
            symptom=read.line,
            record=new,
            count=0 if new.tid in self._said_for else 1,
        )
        self._said[variable] = self._said_for[new.tid] = said
        return said

    def _none(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Explain ``w.grad.zero_()`` where ``w.grad`` is None."""
        place = model.place(event.site)
        if place is None or not place.owner.endswith(".grad"):
            return
        variable = place.owner.removesuffix(".grad")
        record = model.tensor(model.names.get((place.scope, variable), -1))
        read = model.place(self._empty[0])
        if record is None and read is not None:
            # What a loop or an object holds has no name; but it was read, on this line.
            here = (read.filename, read.line, read.owner) == (place.filename, place.line, variable)
            record = model.tensor(self._empty[1]) if here else None
        if record is None:
            return
        if record.is_leaf and record.requires_grad:
            known = record.cleared or model.session.gradients.get(record.tid)
            if known is None and not any(p.finished and not p.failed for p in model.passes):
                yield self.finding(
                    f"`{variable}.grad` is None until the first backward, and this line runs "
                    "before it.",
                    fix=f"if {variable}.grad is not None: {_whole(place)}",
                    edits=rewrites.guarded(place, variable),
                    variable=variable,
                    cause=place,
                    record=record,
                    severity="error",
                )
            return
        history = model.history.get((place.scope, variable), [])
        earlier = [model.tensor(tid) for tid, _, _ in history[:-1]]
        leaves = [old for old in earlier if old is not None and old.is_leaf and old.requires_grad]
        if leaves and takes_a_gradient(model, record, leaves[-1]):
            yield self._told(model, record, variable, place.line)
        elif leaves:
            yield self._computed(model, record, leaves[-1], variable, place)


def _made_on(model: Model, tid: int, place: Place | None) -> bool:
    """Tell whether a tensor was made by the statement at a place."""
    record = model.tensor(tid)
    made = None if record is None else made_at(model, record)
    if made is None or place is None or made.filename != place.filename:
        return False
    return made.line <= place.end_line and place.line <= made.end_line

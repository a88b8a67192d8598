"""Hooks that do not run, or run more often than they should."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import Accessed, BackwardReturned
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.fixes import replace_expression
from leafmagic.findings.leaves import made_at
from leafmagic.looks import Finished
from leafmagic.model import Model
from leafmagic.records import Moment, TensorRecord, best_name

_MOST_PASSES = 20


def registered(model: Model, site: int) -> Place | None:
    """Return the place of a hook that the cell itself registers."""
    place = model.place(site)
    return place if place is not None and place.attribute == "register_hook" else None


@register
class HookOnTemporary(Rule):
    """A hook is registered on a view or a result that nothing is computed from.

    ``a[0]`` makes a new tensor each time, and so does ``a * 2``. A hook runs when a
    gradient passes through the very tensor that it was registered on; one that is
    dropped at the end of the line is part of no loss.

    Failing cell::

        a = torch.ones(3, requires_grad=True)
        calls = []
        a[0].register_hook(lambda g: calls.append(g))
        (a ** 2).sum().backward()
        print(calls)           # []

    Fixed::

        a = torch.ones(3, requires_grad=True)
        calls = []
        a.register_hook(lambda g: calls.append(g[0]))
        (a ** 2).sum().backward()
        print(calls)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
    """

    kind = "hook_surprise"
    code = "LM911"
    events = (Accessed, BackwardReturned, Finished)

    def __init__(self) -> None:
        self._hooked: dict[int, tuple[TensorRecord, Place]] = {}
        self._noticed: int | None = None

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Note hooks on what is made in their line; at the end, look who used it."""
        if isinstance(event, BackwardReturned):
            self._noticed = model.line(event.site)
        elif isinstance(event, Accessed):
            self._note(event, model)
        else:
            hooked, self._hooked = self._hooked, {}
            if hooked:
                yield from self._unused(model, hooked)

    def _note(self, event: Accessed, model: Model) -> None:
        if event.what != "register_hook" or event.is_leaf or event.site in self._hooked:
            return
        place, record = registered(model, event.site), model.tensor(event.tid)
        if place is None or record is None or place.owner.isidentifier():
            return
        made = made_at(model, record)
        if made is not None and _is_made_as(made, place) and not record.names:
            self._hooked[event.site] = record, place

    def _unused(
        self, model: Model, hooked: dict[int, tuple[TensorRecord, Place]]
    ) -> Iterator[Finding]:
        used = {tid for record in model.slots.records for tid in record.inputs}
        used.update(tid for known in model.passes for tid in (*known.roots, *known.inputs))
        behind = {link.to.nid for node in model.slots.node_records for link in node.links}
        for record, place in hooked.values():
            if record.tid in used or record.nid in behind or record.names or record.path:
                continue
            whole = model.name_of(record.inputs[0]) if record.inputs else ""
            code, words = _on_the_whole(place, whole)
            yield self.finding(
                f"`{place.owner}` makes a tensor that nothing is computed from: the hook on it is "
                "never called.",
                fix=code or words,
                variable=place.owner,
                cause=place,
                symptom=self._noticed or place.line,
                record=record,
                edits=replace_expression(place, code) if code else (),
            )


def _is_made_as(made: Place, hooked: Place) -> bool:
    """Tell whether what a hook is registered on is made by that very expression.

    A call that is no op of torch's may keep what it returns.
    """
    begins = hooked.filename, hooked.function, hooked.line, hooked.column
    return made.source == hooked.owner and begins == (
        made.filename,
        made.function,
        made.line,
        made.column,
    )


def _on_the_whole(place: Place, whole: str) -> tuple[str, str]:
    """Return how to hook the tensor that an index is taken of: as code, or in words."""
    index = place.owner.removeprefix(whole)
    hook = place.operands[-1] if len(place.operands) > 1 else ""
    plain = re.fullmatch(r"lambda (\w+): (.+)", hook, re.DOTALL)
    if whole and whole.isidentifier() and place.owner == whole + index and index.startswith("["):
        if plain is not None and "[" + index.strip("[]") + "]" == index:
            name, body = plain.groups()
            body = re.sub(rf"\b{name}\b", f"{name}{index}", body)
            return f"{whole}.register_hook(lambda {name}: {body})", ""
        return "", f"register it on {whole}, and take {index} of the gradient in the hook"
    if place.owner.replace(".", "").isidentifier():
        return "", f"each read of {place.owner} computes it anew: hook the parameter behind it"
    return "", f"name {place.owner}, compute the loss from that, and register the hook on it"


@register
class HookBeforeWrite(Rule):
    """A hook is registered on a view before its memory is written in place.

    The write gives the view a new history. The hook stays with the old one, and the
    gradients of what is computed from the view afterwards do not pass through it.

    Failing cell::

        x0 = torch.ones(2, requires_grad=True)
        x = x0.clone()
        v = x.view(2)
        v.register_hook(lambda g: g * 10)
        x.add_(1)
        v.sum().backward()
        print(x0.grad)         # 1, not 10

    Fixed::

        x0 = torch.ones(2, requires_grad=True)
        x = x0.clone()
        x.add_(1)
        v = x.view(2)
        v.register_hook(lambda g: g * 10)
        v.sum().backward()
        print(x0.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#backward-hooks-execution
    """

    kind = "hook_surprise"
    code = "LM912"
    events = (Accessed, BackwardReturned)

    def __init__(self) -> None:
        self._hooked = False
        self._passes = 0

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look for hooked views that a loss was computed from after a write."""
        if isinstance(event, Accessed):
            self._hooked = self._hooked or (event.what == "register_hook" and not event.is_leaf)
            return
        if event.failed or not self._hooked or self._passes >= _MOST_PASSES:
            return
        hooked = [
            record
            for record in model.slots.records
            if record.hooked and record.seen.base >= 0 and not record.is_leaf
        ]
        if not hooked:
            return
        self._passes += 1
        roots = next((p.roots for p in reversed(model.passes) if p.ordinal == event.began), ())
        for record in hooked:
            writes = _written_since(model, record, record.hooked[-1].ordinal)
            if not writes or not _used_since(model, record, roots, writes[0].ordinal):
                continue
            place, hook = model.place(writes[0].site), model.line(record.hooked[-1].site)
            variable = best_name(record) or (place.owner if place is not None else "")
            yield self.finding(
                f"the hook on `{variable}` (line {hook}) belongs to the value before this write: "
                "no gradient of what comes later passes through it.",
                fix=f"register the hook on {variable} after the last in-place write",
                variable=variable,
                cause=place,
                symptom=model.line(event.site),
                record=record,
            )


def _written_since(model: Model, record: TensorRecord, ordinal: int) -> list[Moment]:
    """Return the writes to the memory of a view, by whatever shares it."""
    root = model.root(record)
    found = [
        write
        for other in model.slots.records
        if other.writes and (other.alias < 0 or other.made.what) and model.root(other) == root
        for write in other.writes
        if write.ordinal > ordinal
    ]
    return sorted(found, key=lambda write: write.ordinal)


def _used_since(model: Model, record: TensorRecord, roots: tuple[int, ...], ordinal: int) -> bool:
    """Tell whether a loss is computed from what a tensor was after a moment, and only then."""
    if record.tid in roots:
        return True
    every = [model.tensor(root) for root in roots]
    every += [above for root in roots for above in model.ancestors(root)]
    moments = [
        one.made.ordinal
        for one in every
        if one is not None and record.tid in one.inputs and one.index != record.index
    ]
    return bool(moments) and min(moments) > ordinal


@register
class HooksPileUp(Rule):
    """The same line registers the same hook on the same tensor again and again.

    A hook stays until its handle removes it, or its tensor is gone. A parameter lives as
    long as its module: with each round of a loop, and each run of a cell, one more hook
    edits the same gradient.

    Failing cell::

        w = torch.ones(1, requires_grad=True)
        for _ in range(3):
            w.register_hook(lambda g: g * 0.5)
            w.grad = None
            (w * 8).sum().backward()
            print(w.grad)      # 4, 2, 1

    Fixed::

        w = torch.ones(1, requires_grad=True)
        w.register_hook(lambda g: g * 0.5)
        for _ in range(3):
            w.grad = None
            (w * 8).sum().backward()
            print(w.grad)      # 4, 4, 4

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
    """

    kind = "hook_surprise"
    code = "LM914"
    events = (Accessed,)

    def __init__(self) -> None:
        self._rounds: dict[tuple[int, int], int] = {}
        self._ours: dict[int, int] = {}

    def check(self, event: Accessed, model: Model) -> Iterator[Finding]:
        """Count the hooks that are alike, where a pass or a cell lies between them."""
        if event.what != "register_hook":
            return
        place, key = registered(model, event.site), (event.site, event.tid)
        before = self._rounds.get(key)
        self._rounds[key] = model.steps
        ours = self._ours[event.tid] = self._ours.get(event.tid, 0) + 1
        again = before is not None and model.steps > before
        # More than were registered since the cell began: an earlier run left them.
        left = event.alike > ours
        if place is None or event.alike < 2 or not (again or left):
            return
        record = model.tensor(event.tid)
        variable = place.owner or ("" if record is None else best_name(record))
        yield self.finding(
            f"{event.alike} hooks with the same code are on `{variable}` now, and each edits or "
            f"sees its gradient: this line adds one on each {'round' if again else 'run'}.",
            fix=_once(place, again=again),
            variable=variable,
            cause=place,
            symptom=next((model.line(p.site) for p in reversed(model.passes)), None),
            record=record,
        )


def _once(place: Place, *, again: bool) -> str:
    if len(place.targets) == 1 and place.targets[0].isidentifier():
        return f"{place.targets[0]}.remove()  # at the end of each {'round' if again else 'run'}"
    if again:
        return "register it once, before the loop, or keep its handle and call handle.remove()"
    return "keep its handle, and call handle.remove() before the cell runs again"

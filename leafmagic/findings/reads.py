"""Reading the ``.grad`` of a tensor that does not have one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.events import Accessed, OpCalled, Raised, Rebound
from leafmagic.findings import fixes
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.leaves import (
    Meant,
    is_anonymous,
    is_lost,
    leaves_behind,
    made_at,
    meant_leaf,
    rebinding_of,
    scope_of,
)
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name

_DEVICE_MOVES = {"to", "cuda", "cpu"}


def _read(event: Accessed, model: Model) -> tuple[TensorRecord, Place, str] | None:
    """Return the tensor of a read of ``.grad`` that is None for good, or None."""
    if event.what != "grad" or not event.by_user or event.is_leaf or event.retains_grad:
        return None
    place, record = model.place(event.site), model.tensor(event.tid)
    if place is None or record is None or place.compared_with_none or event.value != -1:
        return None
    return record, place, place.owner or best_name(record)


def classify_read(
    model: Model, record: TensorRecord, place: Place, variable: str
) -> tuple[str, Meant | None]:
    """Tell which kind of mistake a read of a non-leaf's ``.grad`` is.

    Returns
    -------
    kind : {"hidden_leaf", "leaf_rebound", "nonleaf_grad_read"}
    meant : Meant or None
        The leaf that has the gradient, where it is one in particular.
    """
    meant = meant_leaf(model, record)
    if meant is not None and (meant.anonymous or is_lost(meant.leaf)):
        return "hidden_leaf", meant
    before = rebinding_of(model, record, scope_of(place), variable)
    if before is not None:
        return "leaf_rebound", Meant(before[0], False, False)
    return "nonleaf_grad_read", meant


@register
class NonleafGradRead(Rule):
    """Reading ``.grad`` of a tensor that was computed.

    Backward fills ``.grad`` for leaves only. A computed tensor keeps its gradient if
    ``retain_grad()`` was called on it before backward; otherwise the read gives None,
    and code that goes on with None fails later or learns nothing.

    Failing cell::

        w = torch.ones(3, requires_grad=True)
        h = w * 2
        h.sum().backward()
        print(h.grad)          # None

    Fixed::

        h = w * 2
        h.retain_grad()
        h.sum().backward()
        print(h.grad)

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
    """

    kind = "nonleaf_grad_read"
    code = "LM101"
    events = (Accessed,)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at reads, and at values put into ``.grad`` by hand."""
        if event.what == "set_grad":
            yield from self._set_by_hand(event, model)
            return
        if event.what == "grad" and event.by_user and event.retains_grad:
            yield from self._kept_newer(event, model)
            return
        read = _read(event, model)
        if read is None:
            return
        record, place, variable = read
        kind, _ = classify_read(model, record, place, variable)
        if kind != self.kind:
            return
        root = any(record.tid in p.roots for p in model.passes)
        leaves = [best_name(leaf) for leaf in leaves_behind(model, record)]
        named = [f"`{name}`" for name in dict.fromkeys(leaves) if name][:3]
        what = "the root of the graph" if root else "computed, not a leaf"
        where = (
            f" Gradients are kept for the leaves behind it: {', '.join(named)}." if named else ""
        )
        made = made_at(model, record)
        yield self.finding(
            f"`{variable}` is {what}, so backward does not fill `{variable}.grad`.{where}",
            fix=f"{variable}.retain_grad()  # before backward"
            + (f", after line {made.line}" if made is not None else ""),
            variable=variable,
            cause=made or place,
            symptom=place.line,
            record=record,
        )

    def _set_by_hand(self, event: Accessed, model: Model) -> Iterator[Finding]:
        record, place = model.tensor(event.tid), model.place(event.site)
        if record is None or place is None or event.is_leaf or not event.requires_grad:
            return
        if event.value == -1 or event.retains_grad:
            return
        variable = place.owner or best_name(record)
        yield self.finding(
            f"`{variable}` is not a leaf: backward will not add to the value assigned to "
            f"`{variable}.grad`, and torch no longer warns when it is read.",
            fix=f"{variable}.retain_grad()  # instead of this line",
            variable=variable,
            cause=place,
            record=record,
        )

    def _kept_newer(self, event: Accessed, model: Model) -> Iterator[Finding]:
        record, place = model.tensor(event.tid), model.place(event.site)
        if record is None or place is None or record.retained is None or event.value == -1:
            return
        if any(hook.ordinal < record.retained.ordinal for hook in record.hooked):
            return
        late = [w for w in record.writes if w.ordinal > record.retained.ordinal]
        if not late or any(hook for hook in record.hooked if hook.ordinal < late[0].ordinal):
            return
        variable = place.owner or best_name(record)
        yield self.finding(
            f"`{variable}.grad` is the gradient of `{variable}` after the in-place write, "
            "not of the value it had when retain_grad() was called.",
            fix=f"give the new value a name of its own, and retain both: "
            f"new = {variable}.clone(); new.retain_grad()",
            variable=variable,
            cause=model.place(late[0].site),
            symptom=place.line,
            record=record,
        )


@register
class HiddenLeaf(Rule):
    """The leaf has no name: an op stands between it and the variable.

    ``requires_grad=True`` makes the tensor that the constructor returns a leaf. An op
    behind it in the same line, or a rebinding such as ``x = x.to(...)``, gives the
    variable a computed tensor; the leaf, and the gradient, can no longer be reached.

    Failing cell::

        x = torch.arange(6., requires_grad=True).reshape(3, 2)
        x.sum().backward()
        print(x.grad)          # None

    Fixed::

        x = torch.arange(6.).reshape(3, 2).requires_grad_()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
    """

    kind = "hidden_leaf"
    code = "LM102"
    events = (Accessed, Raised)
    ops = frozenset(_DEVICE_MOVES)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at reads, at device moves of a nameless leaf, and at optimizers' refusals."""
        if isinstance(event, Accessed):
            read = _read(event, model)
            if read is not None:
                record, place, variable = read
                kind, meant = classify_read(model, record, place, variable)
                if kind == self.kind and meant is not None:
                    yield self._told(model, record, meant, variable, place.line)
        elif isinstance(event, OpCalled):
            yield from self._moved(event, model)
        elif "can't optimize a non-leaf" in event.text:
            yield from self._refused(event, model)

    def _told(
        self, model: Model, record: TensorRecord, meant: Meant, variable: str, symptom: int
    ) -> Finding:
        made = made_at(model, record)
        origin = made_at(model, meant.leaf)
        leaf = f"the `{meant.leaf.made.what or 'tensor'}` tensor"
        if meant.anonymous:
            which = f"the leaf is {leaf} inside this line, which has no name"
        else:
            old = best_name(meant.leaf)
            line = f" of line {origin.line}" if origin is not None else ""
            which = f"the leaf{line}, once `{old}`, has no name any more"
        ops = f"`{record.made.what}`" if record.made.what else "an op"
        return self.finding(
            f"`{variable}` is the result of {ops}, not a leaf: {which}, "
            f"and its gradient cannot be read.",
            fix=_hidden_fix(made, meant, variable),
            variable=variable,
            cause=made,
            symptom=symptom,
            record=record,
        )

    def _moved(self, event: OpCalled, model: Model) -> Iterator[Finding]:
        if not event.direct or not event.outputs or not event.inputs:
            return
        place, leaf = model.place(event.site), model.tensor(event.inputs[0])
        if place is None or leaf is None or not leaf.is_leaf or not leaf.requires_grad:
            return
        if not is_anonymous(leaf) or leaf.made.site == 0 or "dtype" in place.source:
            return
        made = made_at(model, leaf)
        if made is None or made.statement != place.statement or _only_dtype(place):
            return
        copied = event.outputs[0] != event.inputs[0]
        record = model.tensor(event.outputs[0])
        variable = place.targets[0] if place.targets else ""
        if not variable and place.returned:
            variable = f"{place.function.rpartition('.')[2]}()"
        move = place.source[place.source.rfind(f".{event.op}") :]
        if copied:
            message = f"`{move}` made a copy: `{variable or move}` is not the leaf any more."
        else:
            message = (
                f"`{move}` made no copy here, so this is still the leaf; on another device it "
                "copies, and the leaf has no name."
            )
        yield self.finding(
            message,
            fix=_move_fix(place, event.op, variable),
            variable=variable or move,
            cause=place,
            record=record,
            severity="warning" if copied else "info",
        )

    def _refused(self, event: Raised, model: Model) -> Iterator[Finding]:
        place = model.place(event.site)
        if place is None:
            return
        for (scope, name), tid in model.names.items():
            record = model.tensor(tid)
            if record is None or record.is_leaf or scope not in ("", place.function):
                continue
            if not any(_mentions(word, name) for word in place.operands):
                continue
            meant = meant_leaf(model, record)
            if meant is not None:
                yield self._told(model, record, meant, name, place.line)


def _mentions(words: str, name: str) -> bool:
    return (
        name
        in words.replace("[", " ")
        .replace("]", " ")
        .replace(",", " ")
        .replace("(", " ")
        .replace(")", " ")
        .replace("*", " ")
        .split()
    )


def _only_dtype(place: Place) -> bool:
    return (
        len(place.operands) > 1
        and place.operands[1].startswith("torch.")
        and not any(place.operands[1].startswith(word) for word in ("torch.device",))
    )


def _move_fix(place: Place, op: str, variable: str) -> str:
    made = place.owner
    arguments = place.operands[1:]
    if op == "to" and len(arguments) == 1 and made.endswith(")") and "requires_grad=True" in made:
        text = made.replace("requires_grad=True", f"device={arguments[0]}, requires_grad=True")
    else:
        text = fixes.chained(fixes.without_flag(place.source), "requires_grad_()")
    return f"{variable} = {text}" if place.targets else text


def _hidden_fix(made: Place | None, meant: Meant, variable: str) -> str:
    if made is None:
        return f"{variable}.retain_grad()  # before backward"
    if meant.anonymous:
        return fixes.flag_last(made, variable)
    if made.owner:
        return fixes.detached_leaf(made, variable)
    return f"{variable}.retain_grad()  # before backward"


@register
class LeafRebound(Rule):
    """An update that makes a new tensor instead of changing the weight.

    ``w = w - lr * w.grad`` points the name ``w`` to the result. The leaf is gone: under
    ``no_grad`` the result does not require grad, outside it is a non-leaf. Either way
    the next ``w.grad`` is None.

    Failing cell::

        w = torch.tensor(1., requires_grad=True)
        for _ in range(2):
            ((w - 8) ** 2).backward()
            w = w - 0.1 * w.grad

    Fixed::

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
    events = (Accessed, Rebound, Raised)

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at rebindings, at reads, and at errors from a ``.grad`` that is None."""
        if isinstance(event, Rebound):
            yield from self._updated(model, event)
        elif isinstance(event, Accessed):
            read = _read(event, model)
            if read is not None:
                record, place, variable = read
                kind, meant = classify_read(model, record, place, variable)
                if kind == self.kind and meant is not None:
                    yield self._told(model, record, variable, place.line)
        elif "NoneType" in event.text:
            yield from self._none(event, model)

    def _updated(self, model: Model, event: Rebound) -> Iterator[Finding]:
        new = model.tensor(event.new)
        if new is None or (new.is_leaf and new.requires_grad):
            return
        above = [r.tid for r in model.ancestors(new.tid, 60)]
        if event.old in above and any(model.grad_values.get(tid) == event.old for tid in above):
            yield self._told(model, new, event.name, None)

    def _told(self, model: Model, new: TensorRecord, variable: str, symptom: int | None) -> Finding:
        made = made_at(model, new)
        if new.requires_grad:
            now = f"is a non-leaf: the next backward will not fill `{variable}.grad`"
        else:
            now = "does not require grad: it will not be trained any more"
        return self.finding(
            f"This line makes a new tensor; `{variable}` no longer names the leaf. It {now}.",
            fix="" if made is None else fixes.in_place_update(made, variable, new.grad_enabled),
            variable=variable,
            cause=made,
            symptom=symptom,
            record=new,
        )

    def _none(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Explain ``w.grad.zero_()`` where ``w.grad`` is None."""
        place = model.place(event.site)
        if place is None or not place.owner.endswith(".grad"):
            return
        variable = place.owner.removesuffix(".grad")
        record = model.tensor(model.names.get((scope_of(place), variable), -1))
        if record is None:
            return
        if record.is_leaf and record.requires_grad:
            if not any(p.finished and not p.failed for p in model.passes):
                yield self.finding(
                    f"`{variable}.grad` is None until the first backward, and this line runs "
                    "before it.",
                    fix=f"if {variable}.grad is not None: {place.source}",
                    variable=variable,
                    cause=place,
                    record=record,
                    severity="error",
                )
            return
        history = model.history.get((scope_of(place), variable), [])
        earlier = [model.tensor(tid) for tid, _, _ in history[:-1]]
        if any(old is not None and old.is_leaf and old.requires_grad for old in earlier):
            yield self._told(model, record, variable, place.line)

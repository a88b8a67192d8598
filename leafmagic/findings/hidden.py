"""Leaves that no variable can reach."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.events import Accessed, OpCalled
from leafmagic.findings import fixes, rewrites
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.leaves import (
    Meant,
    classify_read,
    leaves_behind,
    made_at,
    meant_leaf,
    unfilled_read,
)
from leafmagic.findings.whence import whence
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name

_DEVICE_MOVES = {"to", "cuda", "cpu"}
_ELEMENTS = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*)\s*=\s*[\[({]")
"""The assignment of a container, such as ``noises = [...]``."""


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
        x.sum().backward()
        print(x.grad)

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
            read = unfilled_read(event, model)
            if read is not None:
                record, place, variable = read
                kind, meant = classify_read(model, record, place, variable)
                if kind == self.kind and meant is not None:
                    yield self._told(model, record, meant, variable, place)
        elif isinstance(event, OpCalled):
            yield from self._moved(event, model)
        elif "can't optimize a non-leaf" in event.text:
            yield from self._refused(event, model)

    def _told(
        self, model: Model, record: TensorRecord, meant: Meant, variable: str, read: Place
    ) -> Finding:
        made = made_at(model, record)
        if made is None:
            return self._made_before(model, record, meant, variable, read)
        origin = made_at(model, meant.leaf)
        if meant.anonymous and meant.leaf.names:
            at = "" if origin is None else f" of line {origin.line}"
            which = (
                f"the leaf, the local `{best_name(meant.leaf)}`{at}, stays behind in the function"
            )
        elif meant.anonymous:
            leaf = _short(origin.source) if origin is not None else meant.leaf.made.what
            inside = f"is what `{leaf}` makes inside this line, and it" if leaf else "behind it"
            which = f"the leaf {inside} has no name"
        else:
            old = best_name(meant.leaf)
            line = f" of line {origin.line}" if origin is not None else ""
            which = f"the leaf{line}, once `{old}`, has no name any more"
        ops = f"`{record.made.what}`" if record.made.what else "an op"
        leaves = len(leaves_behind(model, record))
        edits = _edits(made, meant, leaves)
        lines = "" if fixes.is_plain(made, variable) else fixes.pasted(made, edits)
        return self.finding(
            f"`{variable}` is the result of {ops}, not a leaf: {which}, "
            "so that its gradient cannot be read.",
            fix=lines or _hidden_fix(made, meant, variable, leaves),
            edits=edits,
            variable=variable,
            cause=made,
            symptom=read.line,
            record=record,
        )

    def _made_before(
        self, model: Model, record: TensorRecord, meant: Meant, variable: str, read: Place
    ) -> Finding:
        """Tell of a tensor that was there when the trace began."""
        known = whence(model, record)
        old = best_name(meant.leaf)
        which = f", once `{old}`, has no name any more" if old else " behind it has no name"
        when = "was computed before this trace began" if known is None else "is computed"
        text = "" if known is None else _mended(known.statement, variable)
        again = f"{variable} = {variable}.detach().requires_grad_()"
        return self.finding(
            f"`{variable}` {when}, and is no leaf: the leaf{which}, "
            "so that its gradient cannot be read.",
            fix=text or f"{again}  # before it is used",
            variable=variable,
            cause=known or read,
            symptom=read.line,
            record=record,
        )

    def _moved(self, event: OpCalled, model: Model) -> Iterator[Finding]:
        if not event.direct or not event.outputs or not event.inputs:
            return
        place, leaf = model.place(event.site), model.tensor(event.inputs[0])
        if place is None or not place.source or leaf is None:
            return
        if not leaf.is_leaf or not leaf.requires_grad:
            return
        # The name that the line binds may be known already: where nothing is copied, that of
        # the leaf.
        named = any(name.ordinal < event.ordinal for name in leaf.names)
        if named or leaf.path or leaf.made.site == 0 or "dtype" in place.source:
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
            edits=fixes.replace_expression(place, _moved_leaf(place, event.op)),
            variable=variable or move,
            cause=place,
            record=record,
            severity="warning" if copied else "info",
        )

    def _refused(self, event: Raised, model: Model) -> Iterator[Finding]:
        place = model.place(event.site)
        if place is None:
            return
        found = False
        for (scope, name), tid in model.names.items():
            record = model.tensor(tid)
            if record is None or record.is_leaf or scope not in ("", place.function):
                continue
            if not any(_mentions(word, name) for word in place.operands):
                continue
            meant = meant_leaf(model, record, place)
            if meant is not None:
                found = True
                yield self._told(model, record, meant, name, place)
        if not found:
            listed = list(self._in_a_list(place, model))
            yield from listed or self._computed(place, model)

    def _computed(self, place: Place, model: Model) -> Iterator[Finding]:
        """Tell of computed tensors that an optimizer was given, by name or in a list."""
        for (scope, name), tid in model.names.items():
            record = model.tensor(tid)
            if record is None or record.is_leaf or scope not in ("", place.function):
                continue
            holder = record.path.partition("[")[0]
            words = [word for word in (name, holder) if word]
            if not any(_mentions(given, word) for given in place.operands for word in words):
                continue
            made = made_at(model, record)
            what = f"`{record.made.what}`" if record.made.what else "an op"
            yield self.finding(
                f"`{name}` is the result of {what}, not a leaf; an optimizer takes leaves only.",
                fix=f"{name} = {name}.detach().requires_grad_()  # before line {place.line}",
                variable=name,
                cause=made or place,
                symptom=place.line,
                record=record,
                severity="error",
            )

    def _in_a_list(self, place: Place, model: Model) -> Iterator[Finding]:
        """Look for what a comprehension made, in a list that an optimizer was given."""
        told: set[int] = set()
        for record in list(model.tensors.values()):
            made = None if record.is_leaf else made_at(model, record)
            if made is None or record.made.site in told or made.targets:
                continue
            target = _ELEMENTS.match(made.statement)
            if target is None or not any(_mentions(word, target[1]) for word in place.operands):
                continue
            meant = meant_leaf(model, record)
            if meant is not None and meant.anonymous:
                told.add(record.made.site)
                new = fixes.flag_last(made, "", len(leaves_behind(model, record)))
                element = f"{new}  # in place of {_short(made.source)}"
                one = self._told(model, record, meant, target[1], place)
                yield dataclasses.replace(one, fix=element.removeprefix(" = "))


def _short(source: str) -> str:
    return source if len(source) <= 60 else source[:59] + "…"


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
    text = _moved_leaf(place, op)
    return f"{variable} = {text}" if place.targets else text


def _moved_leaf(place: Place, op: str) -> str:
    made = place.owner
    arguments = place.operands[1:]
    if op == "to" and len(arguments) == 1 and made.endswith(")") and "requires_grad=True" in made:
        return made.replace("requires_grad=True", f"device={arguments[0]}, requires_grad=True")
    return fixes.flagged(fixes.words(place))


def _edits(made: Place, meant: Meant, leaves: int) -> tuple[Edit, ...]:
    return rewrites.new_leaf(made, leaves) if meant.anonymous else rewrites.same_leaf(made)


def _mended(statement: str, variable: str) -> str:
    """Rewrite a statement of an earlier cell; empty where it does not make the leaf itself."""
    try:
        body = ast.parse(statement).body
    except SyntaxError:
        return ""
    if len(body) != 1 or not isinstance(body[0], ast.Assign) or len(body[0].targets) != 1:
        return ""
    source = ast.get_source_segment(statement, body[0].value) or ""
    if ast.unparse(body[0].targets[0]) != variable or not source:
        return ""
    return f"{variable} = {fixes.flagged(source)}"


def _hidden_fix(made: Place, meant: Meant, variable: str, leaves: int) -> str:
    if meant.anonymous:
        return fixes.flag_last(made, variable, leaves)
    if made.owner:
        return fixes.detached_leaf(made, variable)
    return f"{variable}.retain_grad()  # before backward"

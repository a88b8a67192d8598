"""In-place ops on views that torch does not allow."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from leafmagic.cell import Place, is_module_word
from leafmagic.edits import Edit
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.fixes import (
    chained,
    keyword,
    out_of_place,
    replace_expression,
    replace_statement,
)
from leafmagic.findings.source import source_at
from leafmagic.findings.texts import text_at
from leafmagic.findings.whence import whence
from leafmagic.looks import Raised
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name

_OVERLAPS = "more than one element of the written-to tensor refers to a single memory location"
_SIBLINGS = frozenset(
    {"unbind", "split", "split_with_sizes", "chunk", "hsplit", "vsplit", "dsplit", "unsafe_split"}
)
_SHARING = frozenset(
    {"expand", "expand_as", "broadcast_to", "broadcast_tensors", "as_strided", "unfold", "meshgrid"}
)
_IS_WRITTEN = "is a view and is being modified inplace"
_HOOKS = ("register_full_backward_hook", "register_full_backward_pre_hook")


@register
class ViewInplaceForbidden(Rule):
    """A view is written in place that shares its memory in a way torch cannot follow.

    In-place writes to most views work. They do not where one call made several views
    (``chunk``, ``split``, ``unbind``, iteration), where several elements are one place in
    memory (``expand``), where the view was made with grad mode off, and where a custom
    function or a full backward hook returned it.

    Failing cell::

        gates = torch.ones(1, 8, requires_grad=True) * 1.0
        i, f = gates.chunk(2, dim=1)
        i.sigmoid_()           # RuntimeError

    Fixed::

        gates = torch.ones(1, 8, requires_grad=True) * 1.0
        i, f = gates.chunk(2, dim=1)
        i = i.sigmoid()

    References
    ----------
    https://docs.pytorch.org/docs/stable/tensor_view.html
    """

    kind = "view_inplace_forbidden"
    code = "LM204"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at what torch refuses, and at how the view was made."""
        text = event.text
        place = model.place(event.site)
        written = _written(model, event, place)
        if "BackwardHookFunction" in text and "modified inplace" in text:
            yield self._by_hook(event, place)
        elif written is None or (_IS_WRITTEN in text and _is_of_a_leaf(model, written)):
            # That a leaf is written is told by the rule for leaves.
            return
        elif "its base or another view of its base has been modified" in text:
            yield from self._base_written(event, model)
        elif "output of a function that returns multiple views" in text:
            yield self._sibling(model, written, place)
        elif _OVERLAPS in text:
            yield self._shared(model, written, place)
        elif "view was created in no_grad mode" in text:
            yield self._by_mode(model, written, place)
        elif "view was created inside a custom Function" in text:
            yield self._by_function(event, model, written, place)

    def _told(
        self,
        message: str,
        fix: str,
        variable: str,
        cause: Place | None,
        place: Place | None,
        record: TensorRecord | None = None,
        edits: tuple[Edit, ...] = (),
    ) -> Finding:
        return self.finding(
            message,
            fix=fix,
            variable=variable,
            cause=cause or place,
            symptom=None if place is None else place.line,
            record=record,
            edits=edits,
        )

    def _sibling(self, model: Model, written: TensorRecord, place: Place | None) -> Finding:
        name = _written_name(place, written)
        made = _made_by(model, written, _SIBLINGS)
        call = whence(model, made)
        edits: tuple[Edit, ...] = ()
        whole = model.name_of(made.inputs[0]) if made.inputs else ""
        if call is not None and call.kind != "Call" and made.made.what == "unbind":
            whole = whole or call.source
            message = f"iterating over `{whole}` gives views made by one call"
            fix = _for_each(place, name, whole)
            edits = _in_place_of_loop(place, name, whole, fix)
        else:
            others = [t for t in (call.targets if call is not None else ()) if t != name]
            also = f" and `{others[0]}`" if len(others) == 1 else ""
            by = f"one `{made.made.what}`" if made.made.what else "one call"
            message = f"`{name}`{also} came as one of several views from {by}"
            fix = "" if place is None else out_of_place(place, name)
            edits = replace_statement(place, fix) if place is not None and fix else ()
        fix = fix or f"write to a copy: {name}.clone()"
        return self._told(
            f"{message}; autograd allows no in-place write to such a `{name}`.",
            fix,
            name,
            call,
            place,
            written,
            edits,
        )

    def _base_written(self, event: Raised, model: Model) -> Iterator[Finding]:
        place = model.place(event.site)
        for tid in event.inputs:
            record = model.tensor(tid)
            if record is None or record.seen.base < 0:
                continue
            root = model.root(record)
            writes = [
                (write, other)
                for other in model.slots.records
                for write in other.writes
                if other is not record and model.root(other) == root
            ]
            made = _made_by(model, record, _SIBLINGS)
            late = [pair for pair in writes if pair[0].ordinal > made.made.ordinal]
            if not late:
                continue
            write, other = late[-1]
            name, changed = best_name(record), best_name(other) or "its base"
            cause = model.place(write.site)
            fix = "" if cause is None else out_of_place(cause, changed)
            yield self._told(
                f"`{changed}` was written in place after `{made.made.what}` had made `{name}` from "
                f"it, as one of several views: `{name}` cannot be used any more.",
                fix or f"write to {changed}.clone(), or before the views are made",
                name,
                cause,
                place,
                record,
                replace_statement(cause, fix) if cause is not None and fix else (),
            )
            return

    def _shared(self, model: Model, written: TensorRecord, place: Place | None) -> Finding:
        name = _written_name(place, written)
        made = _made_by(model, written, _SHARING)
        call = whence(model, made)
        fix = f"{name} = {name}.clone()"
        edits: tuple[Edit, ...] = ()
        if call is not None and call.targets == (name,) and "…" not in call.source:
            code = chained(call.source, "clone()")
            fix, edits = f"{name} = {code}", replace_expression(call, code)
        elif not name.isidentifier():
            fix = f"write to {chained(name, 'clone()')}, and use that"
        source = f" comes from `{made.made.what}`:" if made.made.what in _SHARING else ":"
        return self._told(
            f"`{name}`{source} several of its elements are one place in memory, and cannot be "
            "written one by one.",
            fix,
            name,
            call,
            place,
            written,
            edits,
        )

    def _by_mode(self, model: Model, written: TensorRecord, place: Place | None) -> Finding:
        name = _written_name(place, written)
        call = whence(model, written)
        return self._told(
            f"`{name}` is a view that was made with grad mode off, and is written with grad mode "
            "on.",
            "make the view and write to it both inside of torch.no_grad(), or both outside",
            name,
            call,
            place,
            written,
        )

    def _by_function(
        self, event: Raised, model: Model, written: TensorRecord, place: Place | None
    ) -> Finding:
        name = _written_name(place, written)
        function = event.text.partition(" of ")[2].partition(" ")[0]
        bound = next((known for known in reversed(written.names) if known.line is not None), None)
        cause = whence(model, written)
        if bound is not None and bound.line is not None and not bound.scope:
            # The tensor was made inside of the function, and came out of it here.
            source = f"{bound.name} = {bound.source}"
            line = bound.line
            cause = Place("", bound.label, "<module>", line, line, statement=source, text=source)
        elif cause is not None and place is not None and cause.function != place.function:
            cause = place
        fix = "" if place is None else out_of_place(place, name)
        return self._told(
            f"`{name}` is a view that the custom function `{function}` returned; writing to it in "
            "place would bypass its backward.",
            fix or f"write to {chained(name, 'clone()')} instead",
            name,
            cause,
            place,
            written,
            replace_statement(place, fix) if place is not None and fix else (),
        )

    def _by_hook(self, event: Raised, place: Place | None) -> Finding:
        found = _hook_registered(place)
        variable, cause, what = found or ("", None, _HOOKS[0])
        module = f"`{variable}`" if variable else "a module"
        return self._told(
            f"`{what}` wraps what goes in and out of {module} in a function of its own; "
            f"`{event.op}` then writes to that in place.",
            f"give the activation inplace=False, or hook the output of {variable or 'the module'} "
            "with a tensor hook in a forward hook",
            variable,
            cause,
            place,
        )


def _written(model: Model, event: Raised, place: Place | None) -> TensorRecord | None:
    """Return what an op was to write to: its first argument, or the one called ``out``."""
    out = keyword(place, "out") if place is not None and event.direct else ""
    if out and place is not None:
        for scope in dict.fromkeys((place.scope, "")):
            if (scope, out) in model.names:
                return model.tensor(model.names[scope, out])
        return None
    return model.tensor(event.inputs[0]) if event.inputs else None


def _is_of_a_leaf(model: Model, record: TensorRecord) -> bool:
    base = model.tensor(record.seen.base)
    return base is not None and base.is_leaf and base.requires_grad


def _written_name(place: Place | None, record: TensorRecord) -> str:
    """Return what the cell calls a tensor that it writes to."""
    spelt = ""
    if place is not None and place.attribute.endswith("_"):
        spelt = place.owner
    elif place is not None and place.operands and place.kind in ("AugAssign", "Subscript"):
        spelt = place.operands[0]
    if spelt.replace(".", "").isidentifier() and not is_module_word(spelt):
        return spelt
    return best_name(record) or spelt or "this view"


def _made_by(model: Model, record: TensorRecord, ops: frozenset[str]) -> TensorRecord:
    """Return the view behind a view that an op of a kind made; itself if there is none."""
    current: TensorRecord | None = record
    for _ in range(50):
        if current is None:
            break
        if current.made.what in ops:
            return current
        current = model.tensor(current.inputs[0]) if current.inputs else None
    return record


def _for_each(place: Place | None, name: str, whole: str) -> str:
    """Rewrite an in-place op on each item as a new tensor made of all of them."""
    if place is None or not name.isidentifier() or not whole.isidentifier():
        return ""
    new = out_of_place(place, name).removeprefix(f"{name} = ")
    try:
        statement = ast.parse(place.statement).body[0]
    except (SyntaxError, IndexError):
        return ""
    if isinstance(statement, ast.Expr):
        chain = ast.unparse(statement.value)
        ops = re.findall(r"\.(\w+)\(", chain)
        if any(op in ("zero_", "fill_", "copy_") for op in ops) or not chain.startswith(f"{name}."):
            return ""
        new = re.sub(r"\.(\w+)_\(", r".\1(", chain)
    return f"{whole} = torch.stack([{new} for {name} in {whole}])" if new else ""


def _in_place_of_loop(place: Place | None, name: str, whole: str, new: str) -> tuple[Edit, ...]:
    """Put a statement in the place of the loop that has another one alone in its body."""
    if place is None or not new:
        return ()
    text = text_at(place)
    statement = text.statement(place)
    loop = None if statement is None else next(text.source.parents(statement), None)
    if not isinstance(loop, ast.For) or len(loop.body) != 1 or loop.orelse:
        return ()
    if (text.words(loop.target), text.words(loop.iter)) != (name, whole):
        return ()
    return text.checked((text.edit(text.start(loop), text.end(loop), new),))


def _hook_registered(place: Place | None) -> tuple[str, Place, str] | None:
    """Return the module that the text gives a full backward hook: its name, where, how."""
    if place is None:
        return None
    source = source_at(place)
    found: list[tuple[bool, str, Place, str]] = []
    for node in source.nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr in _HOOKS:
            owner = source.words(node.func.value)
            called = place.source.partition("(")[0]
            near = owner.partition(".")[0].partition("[")[0] == called.partition(".")[0]
            found.append((near, owner, source.place(node), node.func.attr))
    if not found:
        return None
    _, owner, where, what = max(found, key=lambda f: f[0])
    return owner, where, what

"""Writes past torch's counters, to memory that backward needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.breaks import MemoryChanged
from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes, former
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.source import Source, source_at
from leafmagic.model import Model
from leafmagic.records import NodeRecord, TensorRecord, best_name

_CHANGES = {
    "byteswap", "fill", "itemset", "partition", "put", "resize", "setfield", "sort", "__setitem__",
}  # fmt: skip
"""Methods of an array that change it."""


@register
class UntrackedWrite(Rule):
    """A write that torch does not count, to memory that backward needs.

    torch counts the in-place writes to each tensor, and refuses where one that was saved
    for backward has changed. ``.data`` has a counter of its own, and NumPy counts
    nothing: what they write gives wrong gradients, and no error.

    Failing cell::

        x = torch.tensor([0.5, -0.5], requires_grad=True)
        y = x.exp()            # exp saves its result
        y.data.mul_(100)       # not counted
        y.sum().backward()     # x.grad is 100 times too large

    Fixed::

        x = torch.tensor([0.5, -0.5], requires_grad=True)
        y = x.exp()
        scaled = y.detach() * 100
        y.sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
    """

    kind = "untracked_write"
    code = "LM205"
    events = (MemoryChanged,)

    def check(self, event: MemoryChanged, model: Model) -> Iterator[Finding]:
        """Say whose memory it is, who saved it, and which line wrote to it."""
        taken = model.tensor(event.tid)
        place, node = former.place_of_write(model, event.wrote), model.nodes.get(event.nid)
        record = _memory_of(model, taken, node)
        name = best_name(record) if record is not None else ""
        name = name or (best_name(taken) if taken is not None else "")
        known = model.session.made.get(event.tid)
        name = name or ("" if known is None else known.name)
        if event.how in ("data", "set_data"):
            yield self._by_data(event, model, node, record, place, name)
        else:
            yield self._by_numpy(event, model, node, record, place, name)

    def _by_data(
        self,
        event: MemoryChanged,
        model: Model,
        node: NodeRecord | None,
        record: TensorRecord | None,
        place: Place | None,
        name: str,
    ) -> Finding:
        if place is not None and ".data" in place.source:
            spelt = place.source.partition(".data")[0].rpartition("(")[2].strip()
            name = spelt if spelt.replace(".", "").isidentifier() else name
        line = former.where(model, place) if place is not None else "a later line"
        if event.how == "set_data":
            what = f"{line} gives `{name}` other memory, and backward will use that"
            fix = f"assign to {name}.data after backward, or under torch.no_grad() use "
            fix += f"{name}.copy_(...), so that torch can tell"
        else:
            what = f"{line} changes its memory through `.data`, which torch does not count"
            fix = f"write after backward, or to a copy: {name}.detach().clone(); with "
            fix += f"{name}.detach() torch would raise"
        return self.finding(
            f"{_saver(model, node, event)} saved `{name}` for backward; {what}: "
            "the gradient will be wrong, without an error.",
            fix=fix,
            variable=name,
            cause=place,
            symptom=model.line(event.site),
            record=record,
        )

    def _by_numpy(
        self,
        event: MemoryChanged,
        model: Model,
        node: NodeRecord | None,
        record: TensorRecord | None,
        place: Place | None,
        name: str,
    ) -> Finding:
        at = place or model.place(event.site)
        source = source_at(at) if at is not None else None
        array = _array_name(place, source, name)
        wrote = _written_at(source, place, array, event) if source is not None else None
        lines = f"line {wrote.line}" if wrote is not None else "a later line"
        shown = f"`{array}`" if array else "an array"
        memory = f"is the memory of `{name}`" if name else "shares the memory of a tensor"
        fix = "write after backward, or to a copy"
        edits: tuple[Edit, ...] = ()
        if place is not None and place.source and event.how == "numpy":
            copied = fixes.chained(place.source, "copy()")
            fix = f"{place.targets[0]} = {copied}" if len(place.targets) == 1 else copied
            edits = fixes.replace_expression(place, copied)
        elif name:
            fix = f"make {name} with torch.tensor(...), which copies, or write after backward"
        return self.finding(
            f"{shown} {memory}, which {_saver(model, node, event)} saved for backward; {lines} "
            "writes to it, and NumPy writes are not counted: the gradient will be wrong, "
            "without an error.",
            fix=fix,
            edits=edits,
            variable=array or name,
            cause=wrote or at,
            symptom=model.line(event.site),
            record=record,
        )


def _saver(model: Model, node: NodeRecord | None, event: MemoryChanged) -> str:
    place = former.place_of_node(model, node) if node is not None else None
    return f"{event.name} ({former.where(model, place)})" if place is not None else event.name


def _memory_of(
    model: Model, taken: TensorRecord | None, node: NodeRecord | None
) -> TensorRecord | None:
    """Return the tensor of the graph whose memory was written."""
    if taken is None:
        return None
    root = model.root(taken)
    if node is not None:
        for tid in (*node.outputs, *node.inputs):
            near = model.tensor(tid)
            if near is not None and model.root(near) == root and best_name(near):
                return near
    return model.tensor(root) or taken


def _array_name(place: Place | None, source: Source | None, name: str) -> str:
    """Return what the code calls the array that shares the memory."""
    if place is not None:
        return place.targets[0] if len(place.targets) == 1 else ""
    for node in source.nodes if source is not None else ():
        # Where the tensor was made of the array: ``name = torch.from_numpy(array)``.
        made = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if made and isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            target, call = node.targets[0], node.value
            called = getattr(call.func, "attr", "")
            if called in ("from_numpy", "as_tensor") and call.args:
                first = call.args[0]
                if getattr(target, "id", "") == name and isinstance(first, ast.Name):
                    return first.id
    return ""


def _written_at(
    source: Source, handed: Place | None, array: str, event: MemoryChanged
) -> Place | None:
    """Return the statement that wrote, of those that ran where the change was noticed."""
    scope = handed.function.rpartition(".")[2] if handed is not None else "<module>"
    start = handed.line if handed is not None else 0
    noticed = 0 < event.first < event.last
    within = [node for node in source.within(start, 10**9) if _scope(source, node) == scope]
    wrote: list[ast.AST] = [
        source.statement(node) for node in within if array and _changes(node, array)
    ]
    if noticed:
        wrote = [node for node in wrote if event.first <= _line(node) < event.last] or wrote
    if not wrote and noticed:
        between = source.within(max(event.first, start + (scope == "<module>")), event.last - 1)
        top = [n for n in between if isinstance(n, ast.stmt) and not source.function(n)]
        wrote = [*top[-1:]]
    return source.place(wrote[0]) if wrote else None


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _scope(source: Source, node: ast.AST) -> str:
    return getattr(source.function(node), "name", "<module>")


def _changes(node: ast.AST, array: str) -> bool:
    """Tell whether an expression or statement may write to an array of that name."""
    if isinstance(node, ast.AugAssign):
        return _root(node.target) == array
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _root(node) == array
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        if node.func.attr in _CHANGES and _root(node.func.value) == array:
            return True
        if node.func.attr in ("copyto", "put", "place", "putmask", "shuffle", "fill_diagonal"):
            return bool(node.args) and _root(node.args[0]) == array
    return any(given.arg == "out" and _root(given.value) == array for given in node.keywords)


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""

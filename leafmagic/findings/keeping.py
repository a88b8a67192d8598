"""How to come by the gradient that a read of ``.grad`` misses."""

from __future__ import annotations

import ast
from typing import NamedTuple

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes, rewrites
from leafmagic.findings.leaves import CONVERSIONS, is_through, made_at
from leafmagic.findings.texts import Text, text_at
from leafmagic.model import Model
from leafmagic.records import TensorRecord

Edits = tuple[Edit, ...]

_FORMS = (CONVERSIONS - {"requires_grad_", "expand", "expand_as", "broadcast_to", "pin_memory"}) | {
    "getitem",
    "select",
    "narrow",
    "diagonal",
    "clone",
}
"""Ops that do with a gradient what they do with the tensor that it is of."""

_AGAIN = frozenset({"enumerate", "zip", "reversed", "list", "tuple", "sorted", "items", "values"})
"""Calls that a loop can make once more, for the same elements."""

_ROWS = ("__iter__", "iter", "unbind")
_FEW, _MOST = 3, 50
"""So many passes are walked, and so many are looked at."""

_Loop = ast.For | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Assert)


class Way(NamedTuple):
    """How to come by a gradient.

    Attributes
    ----------
    called : str
        What the tensor is called where it is made, or as it was read.
    fix : str
    edits : tuple of Edit
    """

    called: str
    fix: str
    edits: Edits


def way(model: Model, record: TensorRecord, variable: str, read: Place) -> Way:
    """Return how to come by the gradient of a computed tensor that was read."""
    made = made_at(model, record)
    return (
        _of_the_whole(model, record, variable, read)
        or _unused(model, record, variable, made, read)
        or retained(model, record, variable, made, read)
    )


# A piece or another form of a tensor that has one.


def _of_the_whole(model: Model, record: TensorRecord, variable: str, read: Place) -> Way | None:
    """Turn ``w[0].grad`` into ``w.grad[0]``: the piece is a new tensor each time."""
    text = text_at(read)
    node = text.node(read)
    if not isinstance(node, ast.Attribute) or text.words(node.value) != variable:
        return None
    found = _behind(model, record, node.value, read)
    if found is None:
        return None
    whole, base = text.words(found[0]), found[1]
    new = f"{whole}.grad{variable.removeprefix(whole)}"
    if not fixes.is_kept(whole) or not variable.startswith(whole):
        return None
    there = fixes.replace_expression(read, new)
    if base.is_leaf or base.retains_grad:
        return Way(variable, new, there)
    kept = retained(model, base, whole, made_at(model, base), read)
    return Way(variable, f"{kept.fix}; then read {new}", fixes.together(kept.edits, there))


def _behind(
    model: Model, record: TensorRecord, node: ast.expr, read: Place
) -> tuple[ast.expr, TensorRecord] | None:
    """Go back over indexing and views that an expression does; return what they begin with."""
    start = record
    while (made := made_at(model, record)) is not None and not record.is_leaf:
        if (made.filename, made.line) != (read.filename, read.line):
            break
        above = model.tensor(record.inputs[0]) if record.inputs else None
        called = node.func if isinstance(node, ast.Call) else node
        op = "getitem" if isinstance(node, ast.Subscript) else getattr(called, "attr", "")
        inner = node.value if isinstance(node, ast.Subscript) else getattr(called, "value", None)
        if above is None or inner is None or op != record.made.what or op not in _FORMS:
            return None
        record, node = above, inner
    kept = record is not start and record.requires_grad
    return (node, record) if kept else None


def _unused(
    model: Model, record: TensorRecord, variable: str, made: Place | None, read: Place
) -> Way | None:
    """Tell that no loss was computed from a tensor, so that retaining would not help."""
    passes = [p for p in model.passes if p.finished and not p.failed]
    late = [p for p in passes if p.ordinal > record.made.ordinal]
    if made is None or not 0 < len(late) <= _FEW or any(p.times > 1 for p in late):
        return None
    unknown = record.count > 1 or record.nid not in model.nodes
    if unknown or any(is_through(model, p, record) for p in late):
        return None
    new = _of_the_same(model, record, made)
    if new and (made.filename, made.function) == (read.filename, read.function):
        return Way(variable, new, fixes.replace_expression(read, new))
    return Way(variable, f"compute the loss from `{variable}`, and retain its gradient", ())


def _of_the_same(model: Model, record: TensorRecord, made: Place) -> str:
    """Return ``w.grad[0]`` for what was made as ``w[0]`` of a leaf that has its name still."""
    text = text_at(made)
    node = text.node(made)
    found = _behind(model, record, node, made) if isinstance(node, ast.expr) else None
    if node is None or found is None or not found[1].is_leaf:
        return ""
    whole, source = text.words(found[0]), text.words(node)
    names = [name.name for name in found[1].names if name.current]
    # What else it is made with may have changed since.
    same = _names(node) == _names(found[0]) and whole in names
    return f"{whole}.grad{source.removeprefix(whole)}" if same and source.startswith(whole) else ""


# A tensor of its own.


def retained(
    model: Model, record: TensorRecord, variable: str, made: Place | None, read: Place
) -> Way:
    """Return what to call a tensor, and where to call its ``retain_grad()``.

    Where a function reads the gradient of what it is given, its own name for it is of no
    use where the tensor is made; and neither is the variable of a loop.
    """
    if not fixes.is_kept(variable):
        fix = f"{fixes.retained_under_a_name(variable)}  # before backward"
        return Way(variable, fix, ())
    call = f"{variable}.retain_grad()  # before backward"
    if made is None:
        return Way(variable, call, rewrites.retained(model, made, read, variable, None))
    loop = loop_of(read, variable)
    if loop is not None and not _is_in(made, read, loop):
        rows = _rows(model, record, variable, made, loop)
        return rows or _in_a_loop(model, variable, made, read, loop)
    same = (made.filename, made.function) == (read.filename, read.function)
    if variable in made.targets or (same and loop is None):
        edits = rewrites.retained(model, made, read, variable, made.line)
        return Way(variable, *_after(model, made, variable, edits))
    bound = [name for name in record.names if name.line is not None]
    here = [name for name in bound if (name.scope, name.name) == (read.scope, variable)]
    outer = [name for name in bound if not name.scope and name.current]
    if here or (outer and read.scope):
        name = (here or outer)[-1]
        spelt, line, label = name.name, name.line, name.label
    elif made.targets and not made.unpacked:
        spelt, line, label = made.targets[0], made.line, made.label
    else:
        return Way(variable, f"{call}, on what line {read.line} calls `{variable}`", ())
    called = spelt if read.scope else variable
    if label not in ("", made.label):
        fix = f"{spelt}.retain_grad()  # before backward, after line {line} of {label}"
        return Way(called, fix, ())
    edits = rewrites.retained(model, made, read, spelt, line)
    there = made if line is None else rewrites.at_line(made, line)
    if there is None:
        return Way(called, f"{spelt}.retain_grad()  # before backward, after line {line}", edits)
    return Way(called, *_after(model, there, spelt, edits))


def _after(model: Model, place: Place, name: str, edits: Edits) -> tuple[str, Edits]:
    """Return the fix, and the edits, that retain a gradient behind the statement of a place."""
    call = f"{name}.retain_grad()"
    text = text_at(place)
    found = text.statement(place)
    if found is None or not isinstance(found, _SIMPLE):
        return f"{call}  # before backward, after line {place.line}", edits
    last = found.end_lineno or place.line
    passes = [model.place(done.site) for done in model.passes[-_MOST:]]
    if any(
        at is not None and at.filename == place.filename and found.lineno <= at.line <= last
        and text.statement(at) is found
        for at in passes
    ):  # fmt: skip
        apart = _apart(text, found, name, call)
        if apart:
            edits = fixes.replace_statement(place, apart)
            return fixes.pasted(place, edits) or apart, edits
        return f"bind `{name}` above line {found.lineno}, and call {call} there", ()
    row = text.row(found)
    if row.below or row.statements[-1] is not found:
        whole = fixes.pasted(place, edits)
        if whole:
            return whole, edits
    return f"{call}  # before backward, after line {last}", edits


def _apart(text: Text, found: ast.stmt, name: str, call: str) -> str:
    """Take ``(h := x * 2)`` out of the beginning of a statement; empty where it is not there."""
    words = text.words(found)
    for node in ast.walk(found):
        if isinstance(node, ast.NamedExpr) and node.target.id == name:
            inner = f"({text.words(node)})"
            if isinstance(found, ast.Expr) and words.startswith(inner):
                value = text.words(node.value)
                return f"{name} = {value}\n{call}\n{name}{words.removeprefix(inner)}"
    return ""


def loop_of(read: Place, variable: str) -> _Loop | None:
    """Return the loop or comprehension around a read whose variable is read."""
    text = text_at(read)
    node = text.node(read)
    root = variable.split(".")[0].split("[")[0]
    for above in () if node is None else text.source.parents(node):
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return None
        if not isinstance(above, _Loop):
            continue
        parts = [above] if isinstance(above, ast.For) else above.generators
        if any(root in _names(part.target) for part in parts):
            return above
    return None


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _is_in(made: Place, read: Place, loop: _Loop) -> bool:
    """Tell whether a tensor is made in the round of the loop that reads its gradient."""
    same = (made.filename, made.function) == (read.filename, read.function)
    if not same or not isinstance(loop, ast.For):
        return False
    first, last = loop.body[0], loop.end_lineno or loop.lineno
    return (first.lineno, first.col_offset) <= (made.line, made.column or 0) <= (last + 1, 0)


def _rows(
    model: Model, record: TensorRecord, variable: str, made: Place, loop: _Loop
) -> Way | None:
    """Tell of the rows of a tensor, which a loop over it makes anew."""
    above = model.tensor(record.inputs[0]) if len(record.inputs) == 1 else None
    text = text_at(made)
    part = loop if isinstance(loop, ast.For) else loop.generators[0]
    rows = text.words(part.iter)
    there = text.node(made) is part.iter or (made.kind, made.line) == ("", part.iter.lineno)
    if above is None or not there or record.made.what not in _ROWS or not fixes.is_kept(rows):
        return None
    kept = "" if above.is_leaf else f"{rows}.retain_grad() before backward, and "
    return Way(variable, f"{kept}loop over {rows}.grad: its rows are the gradients", ())


def _in_a_loop(model: Model, variable: str, made: Place, read: Place, loop: _Loop) -> Way:
    """Retain the gradient by the name that a tensor is made with, or of all in a loop."""
    around = _around(read.function)
    passes = [model.place(done.site) for done in model.passes[-_MOST:] if not done.failed]
    before = [
        at
        for at in passes
        if at is not None
        and (at.filename, at.function) == (read.filename, around)
        and at.line < read.line
    ]
    if before and isinstance(loop, ast.For) and before[-1].line >= loop.body[0].lineno:
        call, line = f"{variable}.retain_grad()", before[-1].line
        edits = fixes.insert_before(before[-1], call)
        return Way(variable, f"{call}  # before backward, in line {line}", edits)
    if len(made.targets) == 1 and not made.unpacked and fixes.is_kept(made.targets[0]):
        (name,) = made.targets
        edits = fixes.insert_after(made, f"{name}.retain_grad()")
        return Way(name, *_after(model, made, name, edits))
    part = loop if isinstance(loop, ast.For) else loop.generators[0]
    single = isinstance(part, ast.For) or (len(loop.generators) == 1 and not part.ifs)  # type: ignore[union-attr]
    calls = [node.func for node in ast.walk(part.iter) if isinstance(node, ast.Call)]
    again = all(getattr(f, "id", getattr(f, "attr", "")) in _AGAIN for f in calls)
    text = text_at(read)
    if not single or not again:
        return Way(variable, f"call retain_grad() on each `{variable}`, before backward", ())
    target, elements = text.words(part.target), text.words(part.iter)
    new = f"for {target} in {elements}: {variable}.retain_grad()"
    if not before:
        return Way(variable, f"{new}  # before backward", ())
    at = before[-1]
    edits = fixes.insert_before(at, new) if at.line > made.line else ()
    return Way(variable, f"{new}  # before backward, in line {at.line}", edits)


def _around(function: str) -> str:
    """Return the name of the function around a comprehension, or of that itself."""
    above, _, last = function.rpartition(".")
    if not last.endswith(("comp>", "<genexpr>")):
        return function
    return above.removesuffix(".<locals>") or "<module>"

"""The edits of the rules about leaves, their gradients, their updates and their flags."""

from __future__ import annotations

import ast
import re

from leafmagic.cell import Place, is_module_word
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.source import Source, source_at
from leafmagic.findings.texts import text_at, under
from leafmagic.looks import AttributeStored
from leafmagic.model import Model

Edits = tuple[Edit, ...]


def at_line(place: Place, line: int) -> Place | None:
    """Return the place of the statement that begins on a line of the same text."""
    source = source_at(place)
    found = [n for n in source.within(line, line) if isinstance(n, ast.stmt)]
    return source.place(found[0]) if found else None


def is_bound_there(place: Place, name: str) -> bool:
    """Tell whether an assignment to a name keeps its scope.

    In a function a name of the cell would become one of the function's own, and the
    lines above could not read it any more.
    """
    text = text_at(place)
    node = text.node(place)
    function = None if node is None else text.source.function(node)
    if function is None or not name.isidentifier():
        return node is not None
    given = function.args
    names = {a.arg for a in [*given.posonlyargs, *given.args, *given.kwonlyargs]}
    for part in ast.walk(function):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
    return name in names


# Reads.


def retained(model: Model, made: Place | None, read: Place, name: str, line: int | None) -> Edits:
    """Insert ``retain_grad()`` where a tensor is made; or where the traced cell goes backward.

    Parameters
    ----------
    made, read : Place
        Where the tensor is made, and where its gradient is read.
    name : str
        What it is called on `line`, or right behind the place where it is made.
    """
    call = f"{name}.retain_grad()"
    if made is None or made.label != read.label:
        for done in reversed(model.passes):
            at = model.place(done.site) if done.finished else None
            if at is not None and (at.label, at.function) == (read.label, read.function):
                return fixes.insert_before(at, call)
    if made is None:
        return ()
    if name in made.targets:
        return fixes.insert_after(made, call)
    there = None if line is None else at_line(made, line)
    return () if there is None else fixes.insert_after(there, call)


def retained_instead(model: Model, place: Place, variable: str, since: int) -> Edits:
    """Put ``retain_grad()`` where ``.grad`` is assigned, if no pass came before."""
    if any(done.ordinal > since for done in model.passes):
        return ()
    return fixes.replace_statement(place, f"{variable}.retain_grad()")


# Leaves.


def new_leaf(place: Place, leaves: int = 1) -> Edits:
    """Rewrite an expression so that its result is a leaf; so many are behind it."""
    source = fixes.words(place)
    new = fixes.flagged(source, leaves, each=place.unpacked) if source else ""
    return fixes.replace_expression(place, new) if new else ()


def same_leaf(place: Place) -> Edits:
    """Rewrite ``x.to(...)`` so that its result is a leaf again."""
    source = fixes.detached(place)
    return fixes.replace_expression(place, source) if source else ()


# Gradients.


def guarded(place: Place, variable: str) -> Edits:
    """Put ``w.grad.zero_()`` under a test for None."""
    text = text_at(place)
    statement = text.statement(place)
    node = text.node(place)
    if node is None or not isinstance(statement, ast.Expr):
        return ()
    if text.start(statement) != text.start(node):
        return ()
    head = f"if {variable}.grad is not None:"
    block = text.block(statement)
    last = statement
    for other in block[block.index(statement) + 1 :]:
        if not isinstance(other, ast.Expr) or not text.words(other).startswith(f"{variable}.grad."):
            break
        last = other
    if last is statement:
        return fixes.wrap_statement(place, head)
    return under(text, head, statement, last)


# Writes.


def new_tensor(place: Place, variable: str) -> Edits:
    """Rewrite an in-place op as one that makes a new tensor."""
    new = fixes.out_of_place(place, variable)
    if not new or not is_bound_there(place, variable):
        return ()
    text = text_at(place)
    statement, node = text.statement(place), text.node(place)
    if isinstance(statement, ast.AugAssign) or (
        isinstance(statement, ast.Expr)
        and node is not None
        and statement.value is fixes.chain_of(text, node)
    ):
        return fixes.replace_statement(place, new)
    if isinstance(statement, ast.Assign) and statement.value is node:
        return fixes.replace_expression(place, new)  # b = a = a.add(1)
    return ()


def cloned(place: Place | None, name: str, *, result: bool = False) -> Edits:
    """Let an op save a clone of an operand, or clone its result."""
    if place is None:
        return ()
    text = text_at(place)
    node = text.node(place)
    if node is None:
        return ()
    if result:
        if not isinstance(node, ast.expr):
            return ()
        return fixes.replace_expression(place, fixes.chained(text.words(node), "clone()"))
    return fixes.replace_expression(place_of_operand(place, name), f"{name}.clone()")


def place_of_operand(place: Place, name: str) -> Place:
    """Return the place of an operand, or the place itself where it is not one operand."""
    source = source_at(place)
    node = text_at(place).node(place)
    words = [word for word in place.operands if not is_module_word(word)]
    if node is None or words.count(name) != 1:
        return Place(place.filename, place.label, place.function, 0, 0)
    found = [n for n in ast.walk(node) if isinstance(n, ast.expr) and source.words(n) == name]
    if len(found) != 1:
        return Place(place.filename, place.label, place.function, 0, 0)
    return source.place(found[0])


# Flags.


def called_flag(place: Place, right: str) -> tuple[str, Edits]:
    """Mend ``x.requires_grad()``: return the code, and the edits.

    Where the value is looked at the flag is meant, else the method that sets it.
    """
    text = text_at(place)
    node = text.node(place)
    parent = None if node is None else next(text.source.parents(node), None)
    if not isinstance(node, ast.Call) or parent is None:
        return f"{place.owner}.{right}", ()
    flag = f"{place.owner}.{place.attribute}"
    sets = isinstance(parent, ast.Expr | ast.Attribute) or (
        isinstance(parent, ast.Assign | ast.Return)
        and (bool(node.args) or "(" in place.owner or place.targets == (place.owner,))
    )
    if place.attribute != "requires_grad" or not sets:
        return flag, fixes.replace_expression(place, flag)
    given = ", ".join(text.words(part) for part in [*node.args, *node.keywords])
    new = f"{place.owner}.requires_grad_({given})"
    return new, fixes.replace_expression(place, new)


def stray(source: Source, stored: AttributeStored) -> Edits:
    """Mend ``net.requires_grad = False`` of a module, and a misspelt flag."""
    line = stored.line or 0
    for node in source.within(line, line):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == stored.name:
            owner, value = source.words(target.value), source.words(node.value)
            new = f"{owner}.requires_grad = {value}"
            if stored.module:
                new = f"{owner}.requires_grad_({value})"
            return fixes.replace_statement(source.place(node), new)
    return ()


def retained_earlier(place: Place | None, backward: Place | None, name: str) -> Edits:
    """Move ``retain_grad()`` up, before the pass that it came too late for."""
    if (
        place is None
        or backward is None
        or (backward.filename, backward.function)
        != (
            place.filename,
            place.function,
        )
    ):
        return ()
    text = text_at(place)
    statement = text.statement(place)
    if not isinstance(statement, ast.Expr) or statement.lineno < backward.line:
        return ()
    first = re.split(r"[.\[(]", name)[0]
    bound = [
        node.lineno
        for node in text.source.nodes
        if isinstance(node, ast.Name) and node.id == first and isinstance(node.ctx, ast.Store)
    ]
    if any(backward.line <= line <= statement.lineno for line in bound):
        return ()  # Up there the name is not bound yet, or to another tensor.
    return fixes.together(
        fixes.remove_statement(place), fixes.insert_before(backward, f"{name}.retain_grad()")
    )


def is_statement(place: Place) -> bool:
    """Tell whether an expression is a statement of its own."""
    text = text_at(place)
    node = text.node(place)
    parent = None if node is None else next(text.source.parents(node), None)
    return isinstance(parent, ast.Expr)


def retained_here(place: Place, variable: str) -> Edits:
    """Mend ``h.requires_grad_()`` of a computed tensor, whose gradient is wanted."""
    if is_statement(place):
        kept = fixes.is_kept(variable)
        return fixes.replace_expression(place, f"{variable}.retain_grad()") if kept else ()
    if len(place.targets) == 1 and not place.unpacked:
        return fixes.together(
            fixes.replace_expression(place, place.owner),
            fixes.insert_after(place, f"{place.targets[0]}.retain_grad()"),
        )
    return ()


def unflagged(place: Place, variable: str, *, off: bool) -> Edits:
    """Mend a flag that is set on a computed tensor: detach it, or retain its gradient."""
    if not off:
        kept = fixes.is_kept(variable)
        return fixes.replace_statement(place, f"{variable}.retain_grad()") if kept else ()
    if place.targets and place.kind == "Call":
        return fixes.replace_expression(place, fixes.chained(variable, "detach()"))
    if not fixes.is_kept(variable) or not is_bound_there(place, variable):
        return ()
    return fixes.replace_statement(place, f"{variable} = {variable}.detach()")


def as_floats(place: Place, variable: str) -> Edits:
    """Mend a flag that is set on integers."""
    if place.kind == "Call" and place.attribute == "requires_grad_" and place.targets:
        return fixes.replace_expression(
            place, f"{fixes.chained(place.owner, 'float()')}.requires_grad_()"
        )
    alone = place.kind == "Attribute" or is_statement(place)
    if not alone or not is_bound_there(place, variable):
        return ()
    owner = fixes.chained(place.owner or variable, "float()")
    return fixes.replace_statement(place, f"{variable} = {owner}.requires_grad_()")


def flag_after(made: Place, name: str) -> Edits:
    """Let a tensor require grad, from the line on that makes it."""
    return fixes.insert_after(made, f"{name}.requires_grad_()") if name in made.targets else ()


def ordinary(place: Place, name: str) -> Edits:
    """Use a clone of a tensor that was made in inference mode."""
    if not name:
        return ()
    edits = new_tensor(place, name)
    if edits or not is_bound_there(place, name):
        return edits or fixes.replace_expression(place_of_operand(place, name), f"{name}.clone()")
    return fixes.insert_before(place, f"{name} = {name}.clone()")

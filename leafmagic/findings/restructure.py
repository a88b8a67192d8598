"""The edits of the rules about modes and custom functions, which change more than one line."""

from __future__ import annotations

import ast

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.customs import CustomFunction, Locals, calls_of, inside
from leafmagic.findings.source import Source
from leafmagic.findings.texts import indented, indents, text_at, under

Edits = tuple[Edit, ...]
_STEP = "    "


# Modes.


def entered(source: Source, call: ast.expr, words: str, *, backward: bool = False) -> Edits:
    """Put the rest of the block below a mode that is thrown away under it.

    Not where a backward pass or a step follows: what was meant to be in the mode, and what
    not, cannot be known then.

    Parameters
    ----------
    call : ast.expr
        The statement that makes the mode.
    words : str
        The mode.
    backward : bool
        Whether backward passes belong into it, too.
    """
    place = source.place(call)
    text = text_at(place)
    statement = text.statement(place)
    if statement is None or not isinstance(statement, ast.Expr):
        return ()
    rest = text.block(statement)
    rest = rest[rest.index(statement) + 1 :]
    if not rest or text.row(statement).below or len(text.row(rest[0]).statements) > 1:
        return ()
    passes = ("backward", "grad", "step")
    if not backward and any(
        isinstance(node, ast.Attribute) and node.attr in passes
        for part in rest
        for node in ast.walk(part)
    ):
        return ()
    start, end = text.start(statement), text.end(statement)
    head = text.edit(start, end, f"with {words}:")
    return text.checked((head, *indents(text, end[0] + 1, text.end(rest[-1])[0])))


def outside(made: Place, retain: str = "") -> Edits:
    """Take a statement out of the ``with`` that switches grad mode off, or switch it on.

    Parameters
    ----------
    retain : str
        Whose gradient is to be kept.
    """
    text = text_at(made)
    statement = text.statement(made)
    if statement is None:
        return ()
    above = next(text.source.parents(statement), None)
    call = f"\n{retain}.retain_grad()" if retain else ""
    words = text.words(statement)
    if (
        isinstance(above, ast.With)
        and len(above.items) == 1
        and len(above.body) == 1
        and text.source.called(above.items[0].context_expr) == "no_grad"
        and above.lineno < statement.lineno
        and "\n" not in words
    ):
        first = text.lines[above.lineno - 1]
        indent = "\n" + first[: len(first) - len(first.lstrip())]
        new = (words + call).replace("\n", indent)
        return text.checked((text.edit(text.start(above), text.end(above), new),))
    if not retain:
        return fixes.wrap_statement(made, "with torch.enable_grad():")
    inner = f"{indented(words, _STEP)}{call}".replace(call, call.replace("\n", "\n" + _STEP))
    return fixes.replace_statement(made, f"with torch.enable_grad():\n{_STEP}{inner}")


def taken_out(made: Place, head: Place) -> Edits:
    """Take a statement out of the ``with`` around it, where nothing there comes after it."""
    text = text_at(made)
    statement = text.statement(made)
    above = None if statement is None else next(text.source.parents(statement), None)
    if statement is None or not isinstance(above, ast.With) or above.lineno != head.line:
        return ()
    if len(above.body) == 1:
        return outside(made) if len(above.items) == 1 else ()
    (line, column), row = text.start(statement), text.row(statement)
    if statement is not above.body[-1] or len(row.statements) > 1 or line != text.end(statement)[0]:
        return ()
    first = text.lines[above.lineno - 1]
    return text.checked((text.edit((line, len(first) - len(first.lstrip())), (line, column), ""),))


def moved_into_loop(made: Place, used: Place) -> Edits:
    """Move a statement from before a loop to the top of its body."""
    text = text_at(made)
    statement, user = text.statement(made), text.statement(used)
    if statement is None or user is None or not isinstance(statement, ast.Assign):
        return ()
    block, words = text.block(statement), text.words(statement)
    loops = [above for above in text.source.parents(user) if above in block]
    if not loops or not isinstance(loops[0], ast.For | ast.While) or "\n" in words:
        return ()
    first = loops[0].body[0]
    if block.index(loops[0]) < block.index(statement) or text.row(first).below:
        return ()
    return fixes.together(
        fixes.remove_statement(made), fixes.insert_before(text.source.place(first), words)
    )


def undecorated(decorator: Place) -> Edits:
    """Take a decorator away that has a line of its own."""
    text, line = text_at(decorator), decorator.line
    own = text.node(decorator) is not None and decorator.end_line == line < len(text.lines)
    if not own or text.lines[line - 1].strip() != f"@{decorator.source}":
        return ()
    return text.checked((text.edit((line, 0), (line + 1, 0), ""),))


# Custom functions.


def called_by_class(function: CustomFunction, call: Place, apply: str) -> Edits:
    """Make ``forward`` and ``backward`` static, and call them through the class."""
    source = function.source
    edits: list[Edits] = [fixes.replace_expression(call, apply)]
    for name in ("forward", "backward"):
        method = function.methods.get(name)
        if method is not None and not function.is_static(method):
            edits.append(fixes.insert_before(source.place(method), "@staticmethod"))
    return fixes.together(*edits)


def with_graph(
    function: CustomFunction, backward: ast.FunctionDef, call: ast.Call, value: ast.expr
) -> Edits:
    """Compute with grad mode on, in ``backward``, the value that a call there differentiates.

    From below the line that binds what it is differentiated by, up to the call.
    """
    source, values = function.source, Locals(function, backward)
    if not call.args:
        # loss.backward(): by what is not said.
        return fixes.wrap_statement(source.place(value), "with torch.enable_grad():")
    by = {n.id for part in call.args[1:2] for n in ast.walk(part) if isinstance(n, ast.Name)}
    bound = [values.value_at(name, call.lineno) for name in by]
    if not bound or None in bound:
        return ()
    since = max(binding.line for binding in bound if binding is not None)
    text = text_at(source.place(backward))
    last = source.statement(call)
    block = text.block(last) if isinstance(last, ast.stmt) else []
    part = [node for node in block if since < node.lineno < last.lineno]  # type: ignore[attr-defined]
    if not part:
        return ()
    return under(text, "with torch.enable_grad():", part[0], part[-1])


def computed_again(
    function: CustomFunction, backward: ast.FunctionDef, name: str, line: str
) -> Edits:
    """Compute a saved tensor again, below the line that unpacks it."""
    saved = f"{function.context(backward)}.saved_tensors"
    for node in inside(backward):
        if isinstance(node, ast.Assign) and name in {
            part.id for part in ast.walk(node.targets[0]) if isinstance(part, ast.Name)
        }:
            value = function.source.words(node.value)
            if value.startswith(saved):
                return fixes.insert_after(function.source.place(node), line)
    return ()


def saved_for_backward(
    function: CustomFunction, values: Locals, node: ast.Assign, name: str
) -> Edits:
    """Save a tensor with ``save_for_backward`` instead of on ``ctx``, and unpack it."""
    source, backward = function.source, function.methods.get("backward")
    if backward is None or not name.isidentifier():
        return ()
    ctx, there = values.ctx, function.context(backward)
    kept = [
        (n, method)
        for method in function.methods.values()
        for n in inside(method)
        if isinstance(n, ast.Attribute)
        and n.attr == name
        and source.words(n.value) == function.context(method)
    ]
    loads = [n for n, method in kept if method is backward]
    stores = [n for n, method in kept if method is not backward]
    taken = {n.id for n in inside(backward) if isinstance(n, ast.Name)} | set(
        function.parameters(backward)
    )
    alike = source.words(node.value) == name
    here = {n.id for n in inside(values.method) if isinstance(n, ast.Name)}
    if len(stores) != 1 or name in taken or (name in here and not alike):
        return ()
    first = "" if alike else f"{name} = {source.words(node.value)}\n"
    renamed = [fixes.replace_expression(source.place(load), name) for load in loads]
    calls = calls_of(values.method, "save_for_backward")
    if not calls:
        if any(_unpacks(source, n, there) for n in inside(backward)):
            return ()
        saved = f"{first}{ctx}.save_for_backward({name})"
        if not loads:
            return fixes.replace_statement(source.place(node), saved)
        unpacked = f"{name}, = {there}.saved_tensors"
        return fixes.together(
            fixes.replace_statement(source.place(node), saved),
            fixes.insert_before(source.place(_after_docstring(backward)), unpacked),
            *renamed,
        )
    if not loads:
        return ()
    return _saved_too(function, backward, node, name, first.rstrip(), calls, renamed)


def _saved_too(
    function: CustomFunction,
    backward: ast.FunctionDef,
    node: ast.Assign,
    name: str,
    first: str,
    calls: list[ast.Call],
    renamed: list[Edits],
) -> Edits:
    """Add one more to what is saved already, and to what is unpacked."""
    source, there = function.source, function.context(backward)
    unpackings = [n for n in inside(backward) if _unpacks(source, n, there)]
    if len(calls) != 1 or len(unpackings) != 1 or not calls[0].args or calls[0].keywords:
        return ()
    (unpacking,) = unpackings
    if not isinstance(unpacking, ast.Assign) or calls[0].lineno == node.lineno:
        return ()
    target = unpacking.targets[0]
    if not isinstance(target, ast.Tuple | ast.List) or calls[0].lineno < node.lineno:
        # What is saved before the line that makes it cannot be moved there.
        return ()
    given, parts = calls[0].args[-1], target.elts[-1]
    stored = source.place(node)
    return fixes.together(
        fixes.replace_statement(stored, first) if first else fixes.remove_statement(stored),
        fixes.replace_expression(source.place(given), f"{source.words(given)}, {name}"),
        fixes.replace_expression(source.place(parts), f"{source.words(parts)}, {name}"),
        *renamed,
    )


def _unpacks(source: Source, node: ast.AST, ctx: str) -> bool:
    return isinstance(node, ast.Assign) and source.words(node.value) == f"{ctx}.saved_tensors"


def _after_docstring(method: ast.FunctionDef) -> ast.stmt:
    first, *rest = method.body
    text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return rest[0] if text and rest else first

"""Code to paste, and edits: small rewrites of one expression or statement.

The functions that return edits return none where the text is not known, where the
statement is not a simple one, or where the result would not be Python.
"""

from __future__ import annotations

import ast
import re
import textwrap

from leafmagic.cell import Place
from leafmagic.edits import Edit, apply
from leafmagic.findings import flagging, texts

_NOT_OF_VALUES = (
    *("zero_", "fill_", "copy_", "detach_", "requires_grad_", "set_", "resize_"),
    *("normal_", "uniform_", "random_", "exponential_", "cauchy_", "geometric_", "log_normal_"),
    "bernoulli_",
)
"""In-place calls without a method of the same name that gives a new tensor."""


def _parse(source: str) -> ast.expr | None:
    try:
        return ast.parse(source.strip(), mode="eval").body
    except SyntaxError:
        return None


def words(place: Place) -> str:
    """Return the whole source of an expression; empty where it is not known."""
    if not place.source.endswith("…"):
        return place.source
    text = texts.text_at(place)
    node = text.node(place)
    return "" if node is None else text.words(node)


def keyword(place: Place, name: str) -> str:
    """Return the source of a keyword argument; empty where there is none."""
    call = _parse(place.source)
    if isinstance(call, ast.Call):
        for given in call.keywords:
            if given.arg == name:
                return ast.unparse(given.value)
    return ""


def without_flag(source: str) -> str:
    """Remove ``requires_grad=True`` and ``.requires_grad_()`` from an expression."""
    return flagging.bare(source)[0]


def chained(source: str, call: str) -> str:
    """Append a method call, with parentheses where the expression needs them."""
    node = _parse(source)
    whole = isinstance(node, ast.Call | ast.Attribute | ast.Name | ast.Subscript)
    return f"{source}.{call}" if whole else f"({source}).{call}"


def is_kept(words: str) -> bool:
    """Tell whether an expression names a tensor, rather than computes one each time."""
    node = _parse(words)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return False
    return not any(isinstance(part, ast.Call) for part in ast.walk(node))


def retained_under_a_name(words: str) -> str:
    """Tell how to keep the gradient of what nothing points to."""
    return f"give it a name, and keep its gradient: h = {words}; h.retain_grad()"


def flagged(source: str, leaves: int = 1, *, each: bool = False) -> str:
    """Rewrite ``make(requires_grad=True).reshape(...)`` to set the flag at the end.

    Parameters
    ----------
    leaves : int
        So many leaves are known to be behind the value. Where the expression does not make
        them all, the value is computed with or without its own flag: it is detached.
    each : bool
        Whether the value is several tensors, as ``chunk`` gives.
    """
    if each and not flagging.bare(source)[1]:
        return f"(t.detach().requires_grad_() for t in {source})"
    bare, value, count = flagging.bare(source)
    if value:
        if each:
            known = "" if leaves <= count else "detach()."
            flag = "" if value == "True" else value
            return f"(t.{known}requires_grad_({flag}) for t in {bare})"
        setter = f"requires_grad_({'' if value == 'True' else value})"
        return chained(bare, setter if leaves <= count else f"detach().{setter}")
    return flagging.wrapped(source) or chained(source, "detach().requires_grad_()")


def flag_last(place: Place, variable: str, leaves: int = 1) -> str:
    """Rewrite ``x = make(requires_grad=True).reshape(...)`` to set the flag at the end."""
    source = words(place)
    name = place.targets[0] if len(place.targets) == 1 else variable
    if place.unpacked:
        name = ", ".join(place.targets)
    if not source:
        return f"{name} = {name}.detach().requires_grad_()"
    if place.function.endswith("<lambda>"):
        return f"{flagged(source, leaves)}  # in the lambda"
    if place.returned:
        return f"return {flagged(source, leaves)}"
    return f"{name} = {flagged(source, leaves, each=place.unpacked)}"


def detached(place: Place) -> str:
    """Rewrite ``x.to(...)`` so that its result is a leaf; empty where it is not known."""
    source = words(place)
    owner = rf"(?<![\w.]){re.escape(place.owner)}(?!\w)"
    if not source or not place.owner:
        return ""
    return chained(re.sub(owner, f"{place.owner}.detach()", source, count=1), "requires_grad_()")


def detached_leaf(place: Place, variable: str) -> str:
    """Rewrite ``x = x.to(...)`` so that ``x`` is a leaf again."""
    return f"{variable} = {detached(place) or f'{variable}.detach().requires_grad_()'}"


def in_place_update(place: Place, variable: str, grad_enabled: bool) -> str:
    """Rewrite ``w = w - lr * w.grad`` as an update of the leaf itself."""
    source = words(place)
    if not source:
        return f"change `{variable}` in place, under torch.no_grad()"
    node = _parse(source)
    guard = "with torch.no_grad(): " if grad_enabled else ""
    operators = {ast.Add: "+=", ast.Sub: "-=", ast.Mult: "*=", ast.Div: "/="}
    same = (variable, f"{variable}.data", f"{variable}.detach()")
    if isinstance(node, ast.BinOp) and ast.unparse(node.left) in same:
        operator = operators.get(type(node.op))
        if operator:
            rest = ast.get_source_segment(source.strip(), node.right) or ast.unparse(node.right)
            return f"{guard}{variable} {operator} {rest}"
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ast.unparse(node.func.value) == variable
        and node.func.attr in ("add", "sub", "mul", "div")
    ):
        start = len(variable) + 1 + len(node.func.attr)
        return f"{guard}{variable}.{node.func.attr}_{source.strip()[start:]}"
    return f"{guard}{variable}.copy_({source})"


def under_no_grad(place: Place) -> str:
    """Put a simple statement under ``torch.no_grad()``."""
    statement = place.statement or place.source
    if not statement:
        return "put this line under torch.no_grad()"
    if place.function.endswith("<lambda>"):
        # The mode counts where it is called, not where it is made.
        return "make the lambda a function with @torch.no_grad() above it"
    shared = _with_its_line(place, "with torch.no_grad():")
    if shared:
        return shared
    guarded = f"with torch.no_grad(): {statement}"
    try:
        ast.parse(guarded)
    except SyntaxError:
        # The statement goes on below, or another begins on its line.
        source = words(place)
        return f"with torch.no_grad(): {source}" if source else "put it under torch.no_grad()"
    return guarded


def _with_its_line(place: Place, head: str) -> str:
    """Wrap a statement that shares its line; return all that the line becomes.

    Empty for one that has its line for itself.
    """
    text = texts.text_at(place)
    found = text.statement(place)
    if found is None:
        return ""
    row = text.row(found)
    if len(row.statements) == 1 and not row.below:
        return ""
    return pasted(place, wrap_statement(place, head))


def is_plain(place: Place, variable: str) -> bool:
    """Tell whether a statement does nothing but bind a value to a name, on a line of its own."""
    text = texts.text_at(place)
    statement = text.statement(place)
    if not isinstance(statement, ast.Assign):
        return statement is None and _around(text, place) is None
    row = text.row(statement)
    alone = len(row.statements) == 1 and not row.below
    return alone and [text.words(target) for target in statement.targets] == [variable]


def pasted(place: Place, edits: tuple[Edit, ...]) -> str:
    """Return what the line of a statement becomes by edits, with all that stands on it.

    Empty where no edit is on that line, or where it is the head of a block that goes on below.
    """
    text = texts.text_at(place)
    found = text.statement(place) or _around(text, place)
    if found is None:
        return ""
    row = text.row(found)
    first, last = text.start(row.statements[0])[0], text.end(row.statements[-1])[0]
    here = tuple(edit for edit in edits if first <= edit.line and edit.end_line <= last)
    new = apply("\n".join(text.lines), here).split("\n")
    below = len(text.lines) - last
    lines = textwrap.dedent("\n".join(new[first - 1 : len(new) - below])).strip("\n")
    try:
        ast.parse(lines)
    except SyntaxError:
        return ""
    return lines if here else ""


def _around(text: texts.Text, place: Place) -> ast.stmt | None:
    """Return the statement that makes the lambda which a place is in, if it is in one."""
    node = text.node(place)
    if node is None or not place.function.endswith("<lambda>"):
        return None
    return next((n for n in text.source.parents(node) if isinstance(n, ast.stmt)), None)


def out_of_place(place: Place, variable: str) -> str:
    """Rewrite an in-place op as one that makes a new tensor."""
    try:
        statement = ast.parse(place.statement).body[0]
    except (SyntaxError, IndexError):
        statement = None
    if isinstance(statement, ast.AugAssign):
        operator = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}.get(
            type(statement.op)
        )
        if operator and ast.unparse(statement.target) == variable:
            value = ast.get_source_segment(place.statement, statement.value)
            if not isinstance(statement.value, ast.Call | ast.Name | ast.Attribute | ast.Constant):
                value = f"({value})"
            return f"{variable} = {variable} {operator} {value}"
    source = words(place)
    call = _parse(source)
    if (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr.endswith("_")
        and call.func.attr not in _NOT_OF_VALUES
        and ast.unparse(call.func.value) == variable
    ):
        text = texts.text_at(place)
        node = text.node(place)
        whole = None if node is None else chain_of(text, node)
        if whole is not None and whole is not node:
            alone = isinstance(next(text.source.parents(whole), None), ast.Expr)
            return _chain_out_of_place(text.words(whole), variable) if alone else ""
        name = call.func.attr
        start = len(variable) + 1 + len(name)
        return f"{variable} = {variable}.{name[:-1]}{source[start:]}"
    return ""


def chain_of(text: texts.Text, node: ast.AST) -> ast.AST:
    """Return the whole of ``x.mul_(2).add_(1)``, of which a call is the first link."""
    above = list(text.source.parents(node))
    for link, call in zip(above[::2], above[1::2], strict=False):
        if not isinstance(link, ast.Attribute) or not isinstance(call, ast.Call):
            break
        if link.value is not node or call.func is not link:
            break
        node = call
    return node


def _chain_out_of_place(source: str, variable: str) -> str:
    """Rewrite a chain of in-place calls; empty where another call is among them."""
    done, node = "", _parse(source)
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if not name.endswith("_") or name.endswith("__") or name in _NOT_OF_VALUES:
            return ""
        given = ", ".join(
            ast.get_source_segment(source.strip(), part) or ast.unparse(part)
            for part in [*node.args, *node.keywords]
        )
        done = f".{name[:-1]}({given}){done}"
        node = node.func.value
        if isinstance(node, ast.Call) and re.search(
            rf"(?<![\w.]){re.escape(variable)}(?!\w)", given
        ):
            return ""  # It reads what the calls before it have written.
    return f"{variable} = {variable}{done}"


# Edits.


def replace_expression(place: Place, new: str) -> tuple[Edit, ...]:
    """Put another expression in the place of one."""
    return texts.edited(place, texts.expression, new)


def replace_statement(place: Place, new: str) -> tuple[Edit, ...]:
    """Put other code in the place of the statement that an expression is in.

    Parameters
    ----------
    new : str
        One statement or more; its lines after the first are indented as the first is.
    """
    return texts.edited(place, texts.statement, new)


def insert_before(place: Place, new: str) -> tuple[Edit, ...]:
    """Put code on the line before the statement that an expression is in."""
    return texts.edited(place, texts.before, new)


def insert_after(place: Place, new: str) -> tuple[Edit, ...]:
    """Put code on the line after the statement that an expression is in."""
    return texts.edited(place, texts.after, new)


def wrap_statement(place: Place, head: str) -> tuple[Edit, ...]:
    """Put the statement that an expression is in under a head, ``with torch.no_grad():``."""
    return texts.edited(place, texts.wrapped, head)


def remove_statement(place: Place) -> tuple[Edit, ...]:
    """Take the statement that an expression is in away."""
    return texts.edited(place, texts.removal)


def together(*parts: tuple[Edit, ...]) -> tuple[Edit, ...]:
    """Add up the edits of one fix; if a part is missing there is none."""
    return tuple(edit for part in parts for edit in part) if all(parts) else ()

"""Rewriting updates that make a new tensor as updates of the leaf itself."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import elements, fixes
from leafmagic.findings.inline import Mend
from leafmagic.findings.source import source_at
from leafmagic.findings.texts import Text, text_at, text_of

Edits = tuple[Edit, ...]
NONE: Edits = ()
_NONE: tuple[list[str], list[ast.expr], str] = ([], [], "")


def to_paste(made: Place, variable: str, grad_enabled: bool, *, cleared: bool = False) -> str:
    """Rewrite an update, by the name that the weight has where the new value is made.

    The gradient that the leaf keeps is cleared behind it, as in the edits.
    """
    variable = _local(made, variable)
    looped, _ = elements.update(made, variable, grad_enabled, cleared=cleared)
    if looped:
        return looped
    updated = fixes.in_place_update(made, variable, grad_enabled)
    note = ""
    if not cleared and fixes.words(made):
        when = _when(made, variable)
        if when == "behind":
            updated += f"; {variable}.grad = None"
        elif when:
            note = f"  # and {variable}.grad = None before {when}"
    edits = update(made, variable, grad_enabled, cleared=cleared)
    if edits and not fixes.is_plain(made, variable):
        lines = fixes.pasted(made, edits)
        if lines:
            return f"{lines}\n{note.strip()}" if note else lines
    if made.function.endswith("<lambda>"):
        return f"make the lambda a function: {updated}; then return {variable}"
    return updated + note


def run_again(made: Place, variable: str) -> Mend:
    """Rewrite an update of a cell that is run again, and clear the gradient behind it."""
    fix = to_paste(made, variable, grad_enabled=True)
    edits = update(made, variable, grad_enabled=True)
    written = "".join([fix, *(edit.replacement for edit in edits), source_at(made).text])
    if re.search(rf"{re.escape(variable)}\.grad( = None|\.zero_)|zero_grad\(", written):
        return Mend(fix, edits)
    clear = f"{variable}.grad = None"
    text = text_at(made)
    if edits and isinstance(text.statement(made), ast.Assign):
        below = f"    {fixes.in_place_update(made, variable, grad_enabled=False)}\n{clear}"
        edits = fixes.replace_statement(made, f"with torch.no_grad():\n{below}")
    return Mend(fix if "\n" in fix else f"{fix}; {clear}", edits)


def _local(made: Place, variable: str) -> str:
    """Return what the code around an update calls the weight."""
    if variable not in made.source and made.operands and made.operands[0].isidentifier():
        return made.operands[0]
    return variable


def update(made: Place, variable: str, grad_enabled: bool, *, cleared: bool = False) -> Edits:
    """Rewrite an update that makes a new tensor as one in place.

    The new tensor had no gradient yet: that of the leaf is cleared before the next pass
    adds to it, where the text does not do so.

    Parameters
    ----------
    cleared : bool
        Whether the gradient is known to be cleared elsewhere.
    """
    name = _local(made, variable)
    looped, edits = elements.update(made, name, grad_enabled, cleared=cleared)
    if looped:
        return edits
    return _updated(text_of(made.filename), made, name, grad_enabled, cleared)


@lru_cache(maxsize=64)
def _updated(_text: str, made: Place, variable: str, grad_enabled: bool, cleared: bool) -> Edits:
    """Rewrite an update, once for each text."""
    text = text_at(made)
    statement = text.statement(made)
    names, values, tail = _parts(text, statement, made, variable)
    if statement is None or variable not in names:
        return ()
    if any(
        _has_word(text.words(value), name)
        for n, name in enumerate(names)
        for value in values[n + 1 :]
    ):
        return ()  # What comes first would change what comes after it.
    lines: list[str] = []
    clearing: list[str] = []
    for name, value in zip(names, values, strict=True):
        if name != variable and f"{name}.grad" not in text.words(value):
            lines.append(f"{name} = {text.words(value)}")
            continue
        lines.append(fixes.in_place_update(text.source.place(value), name, grad_enabled=False))
        clearing.append(f"{name}.grad = None")
    if grad_enabled:
        lines = ["with torch.no_grad():", *(f"    {line}" for line in lines)]
    when = statement if cleared else _cleared_where(text, statement, names)
    if when is None:
        lines += clearing
    lines += [tail] if tail else []
    edits = fixes.replace_statement(made, "\n".join(lines))
    if when is not None and when is not statement:
        place = text.source.place(when)
        return fixes.together(edits, fixes.insert_before(place, "\n".join(clearing)))
    return edits


def _parts(
    text: Text, statement: ast.stmt | None, made: Place, variable: str
) -> tuple[list[str], list[ast.expr], str]:
    """Return what a statement updates, the new values, and what is left for it to do then."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        pairs = _pairs(statement.targets[0], statement.value)
        names = [text.words(target) for target, _ in pairs]
        values = [value for _, value in pairs]
        if len(names) == 1 and elements.comes_from(text, made, variable):
            return ([variable], values, "") if text.words(values[0]) == fixes.words(made) else _NONE
        if variable in names or len(names) > 1 or not isinstance(statement.targets[0], ast.Name):
            return names, values, ""
        tail = f"{names[0]} = {variable}"
    elif isinstance(statement, ast.Return) and statement.value is not None:
        values, tail = [statement.value], f"return {variable}"
    else:
        return [], [], ""
    # A helper gives its caller the weight itself, instead of a new tensor.
    whole = text.words(values[0]) == fixes.words(made) and variable in made.operands
    return ([variable], values, tail) if whole and variable.isidentifier() else ([], [], "")


def _when(made: Place, variable: str) -> str:
    """Tell where to clear the gradient: ``"behind"`` an update, before ``"line 3"``, or nowhere."""
    text = text_at(made)
    statement = text.statement(made)
    when = statement if statement is None else _cleared_where(text, statement, [variable])
    if when is statement:
        return ""
    return "behind" if when is None else f"line {text.source.place(when).line}"


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    targets = target.elts if isinstance(target, ast.Tuple) else []
    values = value.elts if isinstance(value, ast.Tuple) else []
    if targets and len(targets) == len(values):
        return list(zip(targets, values, strict=True))
    return [(target, value)]


def _has_word(words: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)", words) is not None


def _cleared_where(text: Text, statement: ast.stmt, names: list[str]) -> ast.AST | None:
    """Return the statement before which gradients are to be cleared.

    None stands for right behind the update, `statement` for nowhere.
    """
    written = "|".join(re.escape(name) for name in names)
    if re.search(rf"({written})\.grad(\.zero_\(|\s*=\s*None)|zero_grad\(", text.source.text):
        return statement
    # A function is run again, too.
    above, again = text.source.parents(statement), (ast.For, ast.While, ast.FunctionDef)
    loop = next((node for node in above if isinstance(node, again)), None)
    first = 1 if loop is None else loop.lineno
    last = (None if loop is None else loop.end_lineno) or len(text.lines)
    passes = [
        node
        for node in text.source.within(first if loop is not None else statement.lineno + 1, last)
        if isinstance(node, ast.Attribute) and node.attr == "backward"
    ]
    if not passes and "backward(" not in text.source.text and "grad(" in text.source.text:
        return statement  # What `autograd.grad` returns is not added to `.grad`.
    if not passes:
        return None if loop is not None else statement
    end = statement.end_lineno or statement.lineno
    until = next((node.lineno for node in passes if node.lineno > end), last + 1)
    read = any(
        isinstance(node, ast.Attribute) and node.attr == "grad" and text.words(node.value) in names
        for node in text.source.within(end + 1, until - 1)
    )
    return text.source.statement(passes[0]) if read else None

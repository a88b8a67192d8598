"""Cutting a state off the graph of the step before: what to paste, and where."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.pieces import Told
from leafmagic.findings.texts import Text, text_at
from leafmagic.model import Model
from leafmagic.records import Pass, TensorRecord

_ITEM = re.compile(r"([\w.]+)\[\d+\]")
_VARIABLE = re.compile(r"[^\W\d][\w.]*(\['[^']*'\])?")


def cut_at_entry(
    told: Told,
    model: Model,
    when: str = "step",
    then: str = "",
    also: tuple[Edit, ...] = (),
) -> tuple[str, tuple[Edit, ...]]:
    """Return the fix that detaches a state where a step takes it over, and its edits.

    Parameters
    ----------
    when : str
        What is run again: ``step``, or ``run`` of a cell.
    then : str
        What else is to be done, in words.
    also : tuple of Edit
        The same as edits. Where they are missing, the fix has none.

    Notes
    -----
    The place is the one where the step uses the state, and the name is one that stands
    there: pasted in the line above, it is known.
    """
    users = told.piece.users
    used = model.place(users[0].made.site) if users else told.place
    states = [(told.name, told.record), *told.others]
    words = [
        "" if used is None else _word_at(used, name, record)
        for name, record in states
        if name in told.distinct
    ]
    if used is not None and not set(words) <= set(used.targets):
        # What the line binds anew is not what it takes over, if there is something else.
        words = [word for word in words if word not in used.targets]
    cuts = list(dict.fromkeys(_cut(word) if word else "" for word in words))
    tail = f"; {then}" if then else ""
    if used is None or not all(cuts) or len(cuts) > 3:
        it = "it goes" if len(told.distinct) == 1 else "they go"
        return f"detach {told.names} before {it} into the next {when}{tail}", ()
    late = _cut_late(used, list(dict.fromkeys(words)), _pass_of(told, model))
    if late is not None:
        line, edits = late
        text = f"{'; '.join(cuts)}  # at the end of each {when}, after line {line}{tail}"
        return text, fixes.together(edits, also) if then else edits
    text = f"{'; '.join(cuts)}  # at the start of each {when}, before line {used.line}{tail}"
    edits = fixes.insert_before(used, "\n".join(cuts)) if used.filename else ()
    return text, fixes.together(edits, also) if then else edits


def without_retain(passed: Place) -> tuple[Edit, ...]:
    """Take ``retain_graph=True`` out of the call of a pass."""
    text = text_at(passed)
    call = text.node(passed)
    if not isinstance(call, ast.Call) or "retain_graph" not in {one.arg for one in call.keywords}:
        return ()
    given = [text.words(one) for one in call.args]
    given += [text.words(one) for one in call.keywords if one.arg != "retain_graph"]
    return fixes.replace_expression(passed, f"{text.words(call.func)}({', '.join(given)})")


def _pass_of(told: Told, model: Model) -> Place | None:
    over = told.piece.over
    return model.place(over.site) if isinstance(over, Pass) else None


def _cut_late(
    used: Place, words: list[str], passed: Place | None
) -> tuple[int, tuple[Edit, ...]] | None:
    """Return the line behind which a step ends, and edits that cut states there.

    Only where a state is no tensor before the first step, but None or a number: at the
    start of that step there is nothing to detach. None for any other state.
    """
    text = text_at(used)
    node = text.statement(used)
    names = {word.partition("[")[0] for word in words}
    loop = None if node is None or passed is None else _loop(text, node, passed)
    if loop is None or not names or any(not _begins_empty(text, loop, name) for name in names):
        return None
    last = loop.body[-1]
    end = last.end_lineno or last.lineno
    row = text.row(last)
    if row.below or len(row.statements) > 1 or _leaves_early(loop) or not _binds(loop, names):
        return None
    cuts = dict.fromkeys(_cut(word) for word in words)
    new = "".join(f"\n{row.indent}{cut}" for cut in cuts)
    at = (end, len(text.lines[end - 1]))
    return end, text.checked((text.edit(at, at, new),))


def _loop(text: Text, node: ast.stmt, passed: Place) -> ast.For | ast.While | None:
    """Return the innermost loop that has both a statement and a pass in it."""
    if passed.filename != text.source.filename:
        return None
    for above in text.source.parents(node):
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            return None
        if isinstance(above, ast.For | ast.While):
            first, last = above.body[0].lineno, above.body[-1].end_lineno or 0
            if first <= passed.line <= last:
                return above
    return None


def _begins_empty(text: Text, loop: ast.stmt, name: str) -> bool:
    """Tell whether a variable is None, or a number, when a loop begins."""
    source, found = text.source, False
    for node in source.nodes:
        if (
            isinstance(node, ast.Assign)
            and node.lineno < loop.lineno
            and source.function(node) is source.function(loop)
        ):
            for target in node.targets:
                found = _is_empty(source.words, target, node.value, name, found)
    return found


def _is_empty(
    words: Callable[[ast.AST], str], target: ast.expr, value: ast.expr, name: str, was: bool
) -> bool:
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    for one, given in pairs:
        if words(one) == name:
            return isinstance(given, ast.Constant) and not isinstance(given.value, str)
    return was


def _binds(loop: ast.For | ast.While, names: set[str]) -> bool:
    """Tell whether the body of a loop always binds these variables."""
    bound = {
        ast.unparse(part)
        for node in loop.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        for part in (target.elts if isinstance(target, ast.Tuple) else [target])
    }
    return names <= bound


def _leaves_early(loop: ast.For | ast.While) -> bool:
    return any(isinstance(node, ast.Continue) for part in loop.body for node in ast.walk(part))


def _cut(word: str) -> str:
    item = _ITEM.fullmatch(word)
    if item is not None:
        whole = item.group(1)
        return f"{whole} = tuple(part.detach() for part in {whole})"
    return f"{word} = {word}.detach()" if _VARIABLE.fullmatch(word) else ""


def _word_at(place: Place, name: str, record: TensorRecord | None) -> str:
    """Return what an expression calls a tensor that it takes over from the step before.

    Of two names the one that the statement does not bind anew is it.
    """
    known = [name, *([] if record is None else [one.name for one in record.names])]
    there = [word for word in dict.fromkeys(known) if _is_in(place, word)]
    there.sort(key=lambda word: word in place.targets)
    return there[0] if there else ""


def _is_in(place: Place, word: str) -> bool:
    item = _ITEM.fullmatch(word)
    whole = item.group(1) if item is not None else word.partition("[")[0]
    return bool(whole) and bool(re.search(rf"(?<![\w.]){re.escape(whole)}(?!\w)", place.source))

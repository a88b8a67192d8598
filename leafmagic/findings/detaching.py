"""Cutting a state off the graph of the step before: what to paste, and where."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from leafmagic.cell import Place
from leafmagic.edits import Edit
from leafmagic.findings import fixes
from leafmagic.findings.pieces import Told
from leafmagic.findings.texts import text_at
from leafmagic.model import Model
from leafmagic.records import Pass, TensorRecord

_ITEM = re.compile(r"([\w.]+)\[\d+\]")
_VARIABLE = re.compile(r"[^\W\d][\w.]*(\[('[^']*'|\"[^\"]*\")\])?")


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
        "" if used is None else _word_at(used, name, record, told.place)
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
    step = _Step(used, _pass_of(told, model))
    late = step.late(list(dict.fromkeys(words)))
    if late is not None:
        line, edits = late
        text = f"{'; '.join(cuts)}  # at the end of each {when}, after line {line}{tail}"
        return text, fixes.together(edits, also) if then else edits
    first = step.first({word.partition("[")[0] for word in words})
    cuts = [
        step.guarded(word.partition("[")[0], cut)
        for word, cut in {word: _cut(word) for word in words}.items()
    ]
    cuts = list(dict.fromkeys(cuts))
    both = "; " if not any(cut.startswith("if ") for cut in cuts) else "\n"
    text = f"{both.join(cuts)}  # at the start of each {when}, before line {first.line}{tail}"
    edits = fixes.insert_before(first, "\n".join(cuts)) if used.filename else ()
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


def as_taken_over(told: Told, model: Model) -> Told:
    """Give a state the name under which the step takes it over.

    What the step makes anew under the state's own name is not the state, where another
    variable has kept that of the step before.
    """
    users, place = told.piece.users, told.place
    used = model.place(users[0].made.site) if users else place
    if used is None or place is None or used.filename != place.filename:
        return told
    source = text_at(used).source
    if told.record is None and told.piece.carried:
        # torch.nn.LSTM makes and takes its state as a tuple.
        item = "[0]" if told.piece.node.made.what == "lstm" else ""
        kept = [word for word in place.targets if len(place.targets) > 1 and _is_in(used, word)]
        return told._replace(name=f"{kept[0]}{item}") if kept else told
    anew = place.function == used.function and place.line < used.line
    if told.name not in place.targets or not anew:
        return told
    for node in source.nodes:
        if isinstance(node, ast.Assign) and source.words(node.value) == told.name:
            for word in map(source.words, node.targets):
                if word != told.name and _is_in(used, word):
                    return told._replace(name=word)
    return told


def _pass_of(told: Told, model: Model) -> Place | None:
    over = told.piece.over
    return model.place(over.site) if isinstance(over, Pass) else None


class _Step:
    """The text of a step: where it takes a state over, and where its pass is.

    Parameters
    ----------
    used : Place
        The expression that takes the state over.
    passed : Place or None
        The backward pass of the step.
    """

    def __init__(self, used: Place, passed: Place | None) -> None:
        self.used, self.passed = used, passed
        self.text = text_at(used)
        self.node = self.text.statement(used)
        beside = passed is not None and passed.filename == used.filename
        last = self.text.statement(passed) if beside and passed is not None else None
        here, there = (
            None if node is None else self.text.source.function(node) for node in (self.node, last)
        )
        self.last = last if here is there else None
        """The statement of the pass, if it is in the same function."""

    def loops(self) -> list[ast.For | ast.While]:
        """Return the loops around the place where the state is taken over, inner ones first."""
        found: list[ast.For | ast.While] = []
        for above in [] if self.node is None else self.text.source.parents(self.node):
            if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                break
            if isinstance(above, ast.For | ast.While):
                found.append(above)
        return found

    def _has_pass(self, loop: ast.For | ast.While) -> bool:
        first, end = loop.body[0].lineno, loop.body[-1].end_lineno or 0
        return self.last is not None and first <= self.last.lineno <= end

    def first(self, names: set[str]) -> Place:
        """Return where the step begins: before the inner loops that one pass is for.

        Not before one that binds the state's name, as the items of a list of states.
        """
        begin = self.used
        for loop in self.loops():
            if self._has_pass(loop) or names & self._bound_in(loop):
                break
            begin = self.text.source.place(loop)
        return begin

    def _bound_in(self, loop: ast.For | ast.While) -> set[str]:
        """Return the names that a loop binds before the state is taken over."""
        return {
            node.id
            for node in ast.walk(loop)
            if isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and node.lineno < self.used.line
        }

    def late(self, words: list[str]) -> tuple[int, tuple[Edit, ...]] | None:
        """Return the line behind which a step ends, and edits that cut states there.

        Only where a state is no tensor before the first step, but None or a number: at the
        start of that step there is nothing to detach. None for any other state.
        """
        names = {word.partition("[")[0] for word in words}
        kept = all("." in name for name in names)
        last = self.last
        if last is None or not names or any(self._begins_as(name) is None for name in names):
            return None
        loop = next((one for one in self.loops() if self._has_pass(one)), None)
        if loop is not None:
            last = loop.body[-1]
            if _leaves_early(loop) or not _binds(loop, names):
                return None
        elif self.node is None or last.lineno < self.node.lineno or not kept:
            return None
        end, row = last.end_lineno or last.lineno, self.text.row(last)
        if row.below or len(row.statements) > 1:
            return None
        cuts = dict.fromkeys(_cut(word) for word in words)
        new = "".join(f"\n{row.indent}{cut}" for cut in cuts)
        at = (end, len(self.text.lines[end - 1]))
        return end, self.text.checked((self.text.edit(at, at, new),))

    def guarded(self, name: str, cut: str) -> str:
        """Put a cut under a condition where the state may be no tensor yet."""
        begins = self._begins_as(name)
        if begins is None:
            return cut
        test = f"{name} is not None" if begins.value is None else f"torch.is_tensor({name})"
        return f"if {test}: {cut}"

    def _begins_as(self, name: str) -> ast.Constant | None:
        """Return the None, or the number, that a state is before the first step."""
        source, found = self.text.source, None
        loop = next((one for one in self.loops() if self._has_pass(one)), None)
        around = None if self.node is None else source.function(self.node)
        if isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef):
            found = _default(around, name)
        for node in source.nodes:
            if not isinstance(node, ast.Assign):
                continue
            here = source.function(node) is around
            attribute = "." in name and (not here or around is None)
            if not attribute and (loop is None or not here or node.lineno >= loop.lineno):
                continue
            for target in node.targets:
                value = _value(source.words, target, node.value, name)
                if value is not None:
                    is_empty = isinstance(value, ast.Constant) and not isinstance(value.value, str)
                    found = value if isinstance(value, ast.Constant) and is_empty else None
                    if found is not None and attribute:
                        return found
        return found


def _default(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> ast.Constant | None:
    """Return the constant that a parameter is where nothing is given."""
    given = [*function.args.posonlyargs, *function.args.args]
    pairs: list[tuple[ast.arg, ast.expr | None]] = [
        *zip(reversed(given), reversed(function.args.defaults), strict=False),
        *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True),
    ]
    found = next((default for one, default in pairs if one.arg == name), None)
    return found if isinstance(found, ast.Constant) else None


def _value(
    words: Callable[[ast.AST], str], target: ast.expr, value: ast.expr, name: str
) -> ast.expr | None:
    """Return what an assignment gives a variable; None where it gives it nothing."""
    pairs = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    return next((given for one, given in pairs if words(one) == name), None)


def _binds(loop: ast.For | ast.While, names: set[str]) -> bool:
    """Tell whether the body of a loop binds these variables, be it in loops of its own."""
    body = list(loop.body)
    for node in body:
        if isinstance(node, ast.For | ast.While | ast.With):
            body += node.body
    bound = {
        ast.unparse(part)
        for node in body
        if isinstance(node, ast.Assign | ast.AugAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
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


def _word_at(place: Place, name: str, record: TensorRecord | None, made: Place | None) -> str:
    """Return what an expression calls a tensor that it takes over from the step before.

    Of two names the one that the statement does not bind anew is it. What the step has
    made anew further up is not.
    """
    known = [name, *([] if record is None else [one.name for one in record.names])]
    tail = name.rpartition(".")[2]
    if "." in name and tail.isidentifier():
        # ``net.state`` is ``self.state`` where it is used.
        known += re.findall(rf"(?<![\w.])[\w.]+\.{tail}(?!\w)", place.source)
    there = [word for word in dict.fromkeys(known) if _is_in(place, word)]
    there.sort(key=lambda word: word in place.targets)
    if made is not None and (made.filename, made.function) == (place.filename, place.function):
        there = [w for w in there if w not in made.targets or made.line >= place.line]
    return there[0] if there else ""


def _is_in(place: Place, word: str) -> bool:
    item = _ITEM.fullmatch(word)
    whole = item.group(1) if item is not None else word.partition("[")[0]
    return bool(whole) and bool(re.search(rf"(?<![\w.]){re.escape(whole)}(?!\w)", place.source))

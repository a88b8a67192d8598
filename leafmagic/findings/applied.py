"""What custom functions are applied to, and what their ``backward`` returns, as the text has it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from leafmagic.findings.customs import CustomFunction, Locals, inside
from leafmagic.findings.source import Source
from leafmagic.model import Model
from leafmagic.records import TensorRecord, best_name


@dataclass(frozen=True)
class Returned:
    """What ``backward`` returns at one place.

    Attributes
    ----------
    node : ast.Return or None
        None where it ends without returning anything.
    parts : tuple of ast.expr
        The gradients.
    """

    node: ast.Return | None
    parts: tuple[ast.expr, ...]


class Given:
    """The inputs of a custom function: what forward calls them, and what a call gives.

    Parameters
    ----------
    function : CustomFunction
    model : Model
    texts : iterable of Source
        Where calls of ``apply`` are looked for.
    count : int, optional
        So many inputs the call has, where that is known.
    """

    def __init__(
        self, function: CustomFunction, model: Model, texts: list[Source], count: int = -1
    ) -> None:
        self.model = model
        forward = function.methods.get("forward")
        self.names = [] if forward is None else _inputs(function, forward)
        self._tensors = set() if forward is None else Locals(function, forward).tensors
        self.words: list[str] = []
        calls = [args for text in texts for args in _applied(text, function.name)]
        fits = [args for args in calls if count in (-1, len(args))]
        if fits:
            self.words = fits[0]

    def name(self, index: int) -> str:
        """Return what forward calls an input."""
        return self.names[index] if index < len(self.names) else ""

    def word(self, index: int) -> str:
        """Return what the call gives for an input; empty where it is not a plain name."""
        word = self.words[index] if index < len(self.words) else ""
        return word if word.replace(".", "").isidentifier() else ""

    def spelt(self, index: int) -> str:
        """Return the name of an input in quotes, and what it was given."""
        name, word = self.name(index), self.word(index)
        if not name:
            return f"`{word}`" if word else f"input {index + 1}"
        return f"`{name}` (given `{word}`)" if word and word != name else f"`{name}`"

    def record(self, index: int) -> TensorRecord | None:
        """Return the tensor that an input was given, if it has a name."""
        word = self.word(index)
        found = [r for r in self.model.slots.records if word and best_name(r) == word]
        return found[-1] if found else None

    def is_tensor(self, index: int) -> bool:
        """Tell whether an input is a tensor, as far as that can be told."""
        if self.record(index) is not None:
            return True
        word = self.words[index] if index < len(self.words) else ""
        try:
            constant = isinstance(ast.parse(word, mode="eval").body, ast.Constant | ast.UnaryOp)
        except SyntaxError:
            constant = False
        return not constant and self.name(index) in self._tensors

    def trained(self, index: int) -> bool:
        """Tell whether an input is known to require grad."""
        record = self.record(index)
        return record is not None and record.requires_grad

    def tensor_at(self, number: int) -> int:
        """Return which input is the n-th tensor; -1 where that is not known."""
        last = max(len(self.names), len(self.words))
        tensors = [index for index in range(last) if self.is_tensor(index)]
        return tensors[number] if number < len(tensors) else -1


def _inputs(function: CustomFunction, forward: ast.FunctionDef) -> list[str]:
    names = function.parameters(forward)
    ctx = function.context(forward)
    return names[names.index(ctx) + 1 :] if ctx in names else names


def _applied(source: Source, name: str) -> Iterator[list[str]]:
    """Yield the words of the arguments of each call of ``apply``."""
    called = {f"{name}.apply"}
    for node in source.nodes:
        if isinstance(node, ast.Assign) and source.words(node.value) in called:
            called |= {source.words(target) for target in node.targets}
    for node in source.nodes:
        if not isinstance(node, ast.Call) or source.words(node.func) not in called:
            continue
        if not any(isinstance(arg, ast.Starred) for arg in node.args):
            yield [source.words(arg) for arg in node.args]


def returns_of(backward: ast.FunctionDef) -> list[Returned]:
    """List what a method returns, in the order of the text; at least one."""
    found = [
        Returned(node, _parts(node.value))
        for node in inside(backward)
        if isinstance(node, ast.Return)
    ]
    found.sort(key=lambda one: getattr(one.node, "lineno", 0))
    return found or [Returned(None, ())]


def _parts(value: ast.expr | None) -> tuple[ast.expr, ...]:
    if value is None:
        return ()
    return tuple(value.elts) if isinstance(value, ast.Tuple) else (value,)


def returned_at(
    returns: list[Returned], at: int, *, none: bool = False
) -> tuple[Returned, ast.expr | None]:
    """Return what gives the gradient of an input, and its part; None if that is not known."""
    fits = [one for one in returns if 0 <= at < len(one.parts)]
    best = [one for one in fits if is_none(one.parts[at]) is none]
    one = next(iter([*reversed(best), *reversed(fits)]), returns[-1])
    return one, one.parts[at] if 0 <= at < len(one.parts) else None


def is_none(part: ast.expr) -> bool:
    """Tell whether a part is the word None."""
    return isinstance(part, ast.Constant) and part.value is None


def unreturned(function: CustomFunction, wanted: int) -> str:
    """Return the last line of ``backward`` with the ``return`` that it lacks; else nothing."""
    last = function.methods["backward"].body[-1]
    if not isinstance(last, ast.Expr) or isinstance(last.value, ast.Constant):
        return ""
    fits = len(_parts(last.value)) == wanted
    return f"return {function.source.words(last.value)}" if fits else ""

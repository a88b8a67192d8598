"""What the ``backward`` of a custom function gives back: too little, too much, or None."""

from __future__ import annotations

import re
from collections.abc import Iterator

from leafmagic.breaks import GradientWithheld
from leafmagic.cell import Place
from leafmagic.findings import fixes
from leafmagic.findings.applied import Given, Returned, is_none, returned_at, returns_of, unreturned
from leafmagic.findings.base import Finding, Rule, Severity, register
from leafmagic.findings.customs import CustomFunction, custom_functions
from leafmagic.findings.earlier import function_named, texts_with
from leafmagic.findings.ends import named
from leafmagic.findings.source import mentions, source_read
from leafmagic.looks import Raised, SourceRead
from leafmagic.model import Model

_WHOSE = r"[Ff]unction (\w+)Backward returned "
_COUNT = re.compile(_WHOSE + r"an incorrect number of gradients \(expected (\d+), got (\d+)\)")
_INVALID = re.compile(_WHOSE + r"an invalid gradient at index (\d+) - (.*)")
_NEEDLESS = re.compile(_WHOSE + r"a gradient different than None at position (\d+)")
_SHAPES = re.compile(r"got \[([\d, ]*)\] but expected shape compatible with \[([\d, ]*)\]")


@register
class GradientsReturned(Rule):
    """``backward`` of a custom function does not return one gradient for each input.

    It has to return as many values as ``forward`` has inputs, in that order, each of the
    shape of its input, and None for what is no tensor. None for a tensor that requires
    grad is taken for zero, without an error, so that what is behind it is never trained.

    Failing cell::

        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor
            @staticmethod
            def backward(ctx, g):
                return g * ctx.factor
        x = torch.ones(3, requires_grad=True)
        Scale.apply(x, 2.).sum().backward()       # RuntimeError

    Fixed::

        class Scale(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, factor):
                ctx.factor = factor
                return x * factor
            @staticmethod
            def backward(ctx, g):
                return g * ctx.factor, None
        x = torch.ones(3, requires_grad=True)
        Scale.apply(x, 2.).sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
    """

    kind = "custom_function"
    code = "LM806"
    severity = "error"
    events = (Raised, GradientWithheld, SourceRead)

    def __init__(self) -> None:
        self._waiting: list[Raised | GradientWithheld] = []
        """What no text was found for yet: those of other files are read at the end."""

    def check(
        self, event: Raised | GradientWithheld | SourceRead, model: Model
    ) -> Iterator[Finding]:
        """Look at torch's refusals, and at gradients that were kept back."""
        if isinstance(event, SourceRead):
            yield from self._later(event, model)
            return
        name = _name_of(event)
        if not name:
            return
        node = next((n for n in model.nodes.values() if n.seen.name == f"{name}Backward"), None)
        places = [model.place(event.site), None if node is None else model.place(node.made.site)]
        function = function_named(model, name, *places)
        if function is None:
            self._waiting.append(event)
        else:
            yield from self._look(event, function, model, places)

    def _later(self, event: SourceRead, model: Model) -> Iterator[Finding]:
        waiting = self._waiting
        if not waiting or not mentions(event, "Function"):
            return
        for function in custom_functions(source_read(event)):
            for known in [one for one in waiting if _name_of(one) == function.name]:
                waiting.remove(known)
                yield from self._look(known, function, model, [model.place(known.site)])

    def _look(
        self,
        event: Raised | GradientWithheld,
        function: CustomFunction,
        model: Model,
        places: list[Place | None],
    ) -> Iterator[Finding]:
        backward = function.methods.get("backward")
        if backward is None:
            return
        texts = [*texts_with(model, f"{function.name}.apply", *places), function.source]
        returns = returns_of(backward)
        line = model.line(event.site)
        if isinstance(event, GradientWithheld):
            yield from self._kept(event, function, returns, Given(function, model, texts), line)
            return
        count = _COUNT.search(event.text)
        if count is not None:
            wanted, got = int(count.group(2)), int(count.group(3))
            given = Given(function, model, texts, wanted)
            yield self._counted(function, returns, given, wanted, got, line)
            return
        given = Given(function, model, texts)
        invalid, needless = _INVALID.search(event.text), _NEEDLESS.search(event.text)
        if invalid is not None:
            at, said = given.tensor_at(int(invalid.group(2))), invalid.group(3)
            yield self._shaped(function, returns, given, at, said, line)
        elif needless is not None:
            yield self._needless(function, returns, given, int(needless.group(2)) - 1, line)

    def _counted(
        self,
        function: CustomFunction,
        returns: list[Returned],
        given: Given,
        wanted: int,
        got: int,
        line: int | None,
    ) -> Finding:
        one = next((r for r in returns if max(len(r.parts), 1) == got), returns[-1])
        words = [function.source.words(part) for part in one.parts]
        missing = list(range(got if one.parts else 0, wanted))
        gradients = f"{got} gradient{'' if got == 1 else 's'}" if one.parts else "nothing"
        told = f"`{function.name}.backward` returns {gradients}, and forward was given {wanted} "
        told += f"input{'' if wanted == 1 else 's'}: {'none' if one.parts else 'a gradient'} is "
        paste = "" if one.parts else unreturned(function, wanted)
        if missing:
            told += "returned for " if one.parts else "missing for "
            told += _listed([given.spelt(index) for index in missing]) + "."
            if one.parts and not any(map(given.trained, missing)):
                paste = f"return {', '.join([*words, *['None'] * len(missing)])}"
            whose = " and ".join(f"`{given.name(i) or i + 1}`" for i in missing)
            fix = (
                f"return one value more for each: the gradient of {whose}, in the order of forward"
            )
        else:
            told = told.rpartition(":")[0] + "."
            fix = f"return {wanted} values, in the order of forward"
            if all(word == "None" for word in words[wanted:]) or len(words) == got:
                paste = f"return {', '.join(words[:wanted])}"
        return self._told(function, one, told, fix, paste, _variable(given, missing), line)

    def _shaped(
        self,
        function: CustomFunction,
        returns: list[Returned],
        given: Given,
        at: int,
        said: str,
        line: int | None,
    ) -> Finding:
        one, part = returned_at(returns, at)
        shapes = _SHAPES.search(said)
        whose = given.spelt(at) if at >= 0 else "one of its inputs"
        told = (
            f"`{function.name}.backward` returns a gradient for {whose} that does not fit: {said}."
        )
        fix, paste = "return a gradient of the input's own shape, dtype and device", ""
        if shapes is not None:
            is_, should = (_numbers(shapes.group(i)) for i in (1, 2))
            told = f"`{function.name}.backward` returns a gradient of shape {is_} for {whose}, "
            told += f"which has the shape {should}."
            fix = f"return a gradient of shape {should}, such as it was given: "
            fix += "sum over what was broadcast, and undo each transposition"
            if part is not None and len(is_) == 2 and is_ == should[::-1]:
                turned = fixes.chained(function.source.words(part), "t()")
                words = [
                    turned if other is part else function.source.words(other) for other in one.parts
                ]
                paste = f"return {', '.join(words)}"
        return self._told(function, one, told, fix, paste, _variable(given, [at]), line)

    def _needless(
        self,
        function: CustomFunction,
        returns: list[Returned],
        given: Given,
        at: int,
        line: int | None,
    ) -> Finding:
        one, part = returned_at(returns, at)
        told = f"`{function.name}.backward` returns a gradient for {given.spelt(at)}, which is no "
        told += "tensor: there only None may be returned."
        words = ["None" if o is part else function.source.words(o) for o in one.parts]
        paste = f"return {', '.join(words)}" if part is not None else ""
        fix = "return None in its place"
        return self._told(function, one, told, fix, paste, _variable(given, [at]), line)

    def _kept(
        self,
        event: GradientWithheld,
        function: CustomFunction,
        returns: list[Returned],
        given: Given,
        line: int | None,
    ) -> Iterator[Finding]:
        at = given.tensor_at(event.position)
        one, _ = returned_at(returns, at, none=True)
        leaves = named(r for tid in event.leaves if (r := given.model.tensor(tid)) is not None)
        if not leaves:
            return
        what = "None" if one.node is not None else "nothing"
        variable = given.word(at) or leaves.partition("`")[2].partition("`")[0]
        several = " and " in leaves
        name = given.name(at)
        # A function that gives nothing back, and says so, is made to stop the gradient.
        stops = one.node is not None and all(map(is_none, one.parts))
        fix = f"return the gradient of {f'`{name}`' if name else 'this input'} in its place"
        word = given.word(at)
        fix += f"; if it is not trained, call apply with {word}.detach()" if word else ""
        paste = "" if one.node is not None else unreturned(function, len(given.names))
        yield self._told(
            function,
            one,
            f"`{function.name}.backward` returns {what} for {given.spelt(at)}, which requires "
            f"grad: {leaves} {'get' if several else 'gets'} no gradient.",
            fix,
            paste,
            variable,
            line,
            "info" if stops else "warning",
        )

    def _told(
        self,
        function: CustomFunction,
        one: Returned,
        told: str,
        fix: str,
        paste: str,
        variable: str,
        line: int | None,
        severity: Severity | None = None,
    ) -> Finding:
        source, backward = function.source, function.methods["backward"]
        paste = "" if "\n" in paste else paste
        cause = source.place(one.node or backward.body[-1])
        return self.finding(
            told,
            fix=paste or fix,
            edits=fixes.replace_statement(cause, paste) if paste else (),
            variable=variable or function.name,
            cause=cause,
            symptom=line,
            severity=severity,
        )


def _name_of(event: Raised | GradientWithheld) -> str:
    """Return the class that an event is about; empty where it is about none."""
    if isinstance(event, GradientWithheld):
        return event.name.removesuffix("Backward")
    found = next(
        (m for p in (_COUNT, _INVALID, _NEEDLESS) if (m := p.search(event.text)) is not None), None
    )
    return "" if found is None else found.group(1)


def _variable(given: Given, indices: list[int]) -> str:
    """Return what to name of some inputs: what is trained first."""
    ranked = sorted((i for i in indices if i >= 0), key=lambda i: not given.trained(i))
    return next((given.word(i) or given.name(i) for i in ranked), "")


def _numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",") if part.strip()]


def _listed(words: list[str]) -> str:
    return " and ".join(words) if len(words) < 3 else f"{', '.join(words[:2])} and others"

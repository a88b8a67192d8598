"""What a custom function keeps for its backward."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.findings import restructure
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.customs import (
    CustomFunction,
    Locals,
    calls_of,
    custom_functions,
    inside,
    reached,
)
from leafmagic.findings.source import mentions, source_read
from leafmagic.looks import SourceRead
from leafmagic.model import Model


@register
class SavedIntermediate(Rule):
    """A function that saves an intermediate result is differentiated twice.

    ``forward`` runs with grad mode off. What it computes on the way, and saves, is a
    constant for the second derivative: the part of it that passes through the saved
    tensor is missing, and nothing is raised. Save inputs and outputs, and compute the
    rest again in ``backward``; or mark ``backward`` with ``@once_differentiable``.

    Failing cell::

        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x, x * x)
                return x ** 3
            @staticmethod
            def backward(ctx, g):
                x, sq = ctx.saved_tensors
                return g * sq * 3 + 0 * x
        x = torch.tensor(2., requires_grad=True)
        g, = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
        print(torch.autograd.grad(g, x))        # 0, not 12

    Fixed::

        class Cube(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x ** 3
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                sq = x * x
                return g * sq * 3
        x = torch.tensor(2., requires_grad=True)
        g, = torch.autograd.grad(Cube.apply(x), x, create_graph=True)
        print(torch.autograd.grad(g, x))        # 12

    References
    ----------
    https://docs.pytorch.org/tutorials/intermediate/custom_function_double_backward_tutorial.html
    """

    kind = "custom_function"
    code = "LM804"
    events = (SourceRead,)

    def check(self, event: SourceRead, model: Model) -> Iterator[Finding]:
        """Look at functions in the graph, if a pass followed one with ``create_graph``."""
        twice = _second_pass(model)
        if twice is None or not mentions(event, "Function"):
            return
        names = {node.seen.name for node in model.nodes.values()}
        source = source_read(event)
        at = model.place(twice)
        for function in reached(source, event):
            if f"{function.name}Backward" in names:
                here = at is not None and at.label == source.label
                yield from self._look(function, at.line if at is not None and here else None)

    def _look(self, function: CustomFunction, symptom: int | None) -> Iterator[Finding]:
        source, backward = function.source, function.methods.get("backward")
        if backward is None or any(
            source.last(d) == "once_differentiable" for d in backward.decorator_list
        ):
            return
        for method in function.savers:
            values = Locals(function, method)
            calls = calls_of(method, "save_for_backward")
            used = _used_in(function, backward, len(calls[0].args)) if len(calls) == 1 else {}
            for index, saved in enumerate(values.saved):
                if index not in used or not values.varies(saved, saved.lineno):
                    continue
                name = used[index]
                fix = _computed_again(function, backward, values, saved, name)
                line, _, there = fix.partition("  # in backward")
                yield self.finding(
                    f"`{name}` was computed in forward, where grad mode is off: it is a constant "
                    "to the second derivative, whose part through it is missing.",
                    fix=fix,
                    edits=restructure.computed_again(function, backward, name, line)
                    if there
                    else (),
                    variable=name,
                    cause=source.place(saved),
                    symptom=symptom,
                )


def _second_pass(model: Model) -> int | None:
    """Return the site of the first pass after one that made a graph of its own."""
    first = next((p for p in model.passes if p.create_graph and p.finished and not p.failed), None)
    if first is None:
        return None
    return next((p.site for p in model.passes if p.ordinal > first.finished), None)


def _used_in(function: CustomFunction, backward: ast.FunctionDef, count: int) -> dict[int, str]:
    """Return which saved tensors `backward` computes with, and what it calls them."""
    found: dict[int, str] = {}
    values = Locals(function, backward)
    saved = function.context(backward) + ".saved_tensors"
    names: dict[int, str] = {}
    for name, bindings in values.bindings.items():
        if len(bindings) != 1:
            continue  # Bound anew: computed again, perhaps.
        (bound,) = bindings
        if function.source.words(bound.value) == saved:
            if bound.index >= 0:
                names[bound.index] = name
        elif isinstance(bound.value, ast.Subscript) and bound.index < 0:
            whole, at = function.source.words(bound.value.value), bound.value.slice
            if whole == saved and isinstance(at, ast.Constant) and isinstance(at.value, int):
                names[at.value % count] = name
    for node in inside(backward):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            above = next(function.source.parents(node))
            if not isinstance(above, ast.Compare):
                found |= {index: name for index, name in names.items() if name == node.id}
    return found


def _computed_again(
    function: CustomFunction,
    backward: ast.FunctionDef,
    values: Locals,
    saved: ast.expr,
    name: str,
) -> str:
    """Return the line that computes a saved tensor in backward, where its names are known."""
    bound = values.value_at(saved.id, saved.lineno) if isinstance(saved, ast.Name) else None
    value = bound.value if bound is not None else saved
    words = function.source.words(value)
    needed = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    there = set(Locals(function, backward).bindings) | {"torch", "F"}
    if not words or not needed <= there or (bound is not None and bound.index >= 0):
        return f"compute {name} in backward, from saved inputs, or return it as another output"
    return f"{name} = {words}  # in backward, below saved_tensors"


@register
class KeptOnContext(Rule):
    """A tensor kept as an attribute of ``ctx``.

    ``ctx.save_for_backward`` frees what it keeps when backward is through with it,
    notices in-place changes and lets hooks move it elsewhere. A tensor that is stored as
    an attribute lives as long as the graph, or as anything that holds a result of it.
    Plain values (shapes, flags, numbers) are stored as attributes rightly.

    Failing cell::

        class Keep(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.big = x.new_ones(1000)
                return x.clone()
            @staticmethod
            def backward(ctx, g):
                return g * ctx.big.sum()
        y = Keep.apply(torch.ones(2, requires_grad=True))
        y.sum().backward()      # y still holds the 1000 ones

    Fixed::

        class Keep(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                big = x.new_ones(1000)
                ctx.save_for_backward(big)
                return x.clone()
            @staticmethod
            def backward(ctx, g):
                big, = ctx.saved_tensors
                return g * big.sum()
        y = Keep.apply(torch.ones(2, requires_grad=True))
        y.sum().backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.save_for_backward.html
    """

    kind = "custom_function"
    code = "LM805"
    severity = "info"
    events = (SourceRead,)

    def check(self, event: SourceRead, model: Model) -> Iterator[Finding]:
        """Look for tensors that ``forward`` stores on ``ctx``."""
        if not event.last or not mentions(event, "Function"):
            return
        source = source_read(event)
        for function in custom_functions(source, event.first, event.last):
            for method in function.savers:
                values = Locals(function, method)
                for node in inside(method):
                    if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                        continue
                    target = node.targets[0]
                    if (
                        isinstance(target, ast.Attribute)
                        and isinstance(target.value, ast.Name)
                        and target.value.id == values.ctx
                        and not _dropped(function, target.attr)
                        and not values.is_input(node.value)
                        and values.makes_tensor(node.value)
                    ):
                        yield self._told(function, values, node, target, model)

    def _told(
        self,
        function: CustomFunction,
        values: Locals,
        node: ast.Assign,
        target: ast.Attribute,
        model: Model,
    ) -> Finding:
        source, ctx, name = function.source, values.ctx, target.attr
        others = [source.words(arg) for arg in values.saved]
        words = source.words(node.value)
        first = "" if words == name else f"{name} = {words}; "
        saved = ", ".join([*others, name])
        place = source.place(node)
        ran = [p for p in (model.place(done.site) for done in model.passes) if p is not None]
        lines = [p.line for p in ran if p.label == place.label and p.line > place.line]
        return self.finding(
            f"`{ctx}.{name}` lives as long as the graph, backward or not: it was not saved with "
            "save_for_backward.",
            fix=f"{first}{ctx}.save_for_backward({saved})  # in backward: "
            f"{', '.join([*map(_plain, others), name])}{'' if others else ','} "
            f"= {ctx}.saved_tensors",
            edits=restructure.saved_for_backward(function, values, node, name),
            variable=f"{ctx}.{name}",
            cause=place,
            symptom=max(lines, default=None),
        )


def _plain(words: str) -> str:
    return words if words.isidentifier() else "_"


def _dropped(function: CustomFunction, attribute: str) -> bool:
    """Tell whether backward lets go of an attribute of ``ctx`` itself."""
    backward = function.methods.get("backward")
    if backward is None:
        return False
    ctx = function.context(backward)
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and not isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == ctx
        for node in inside(backward)
    )

"""Custom functions whose methods run in another mode, or are called in another way, than meant."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from leafmagic.cell import Place
from leafmagic.findings import restructure
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.customs import (
    CustomFunction,
    Locals,
    custom_functions,
    inside,
)
from leafmagic.findings.earlier import texts_with
from leafmagic.findings.source import Source, mentions, source_at, source_read
from leafmagic.looks import Raised, SourceRead
from leafmagic.model import Model
from leafmagic.records import TensorRecord

_NO_GRAPH = "does not require grad and does not have a grad_fn"
_ELEMENT = re.compile(r"element (\d+) of tensors")
_LEGACY = "Legacy autograd function with non-static forward"


@register
class GradModeAskedInForward(Rule):
    """``torch.is_grad_enabled()`` in the ``forward`` of a custom function.

    ``apply`` runs ``forward`` with grad mode off, always: the answer is False, whatever
    the mode of the caller. Ask before ``apply`` and hand the answer in, or look at
    ``ctx.needs_input_grad`` if it is about the inputs.

    Failing cell::

        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.keep = torch.is_grad_enabled()      # False
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g * 2
        F.apply(torch.ones(1, requires_grad=True))

    Fixed::

        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, keep):
                ctx.keep = keep
                return x * 2
            @staticmethod
            def backward(ctx, g):
                return g * 2, None
        F.apply(torch.ones(1, requires_grad=True), torch.is_grad_enabled())

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
    """

    kind = "custom_function"
    code = "LM801"
    events = (SourceRead,)

    def check(self, event: SourceRead, _: Model) -> Iterator[Finding]:
        """Look for the question in ``forward``."""
        if not mentions(event, "is_grad_enabled"):
            return
        source = source_read(event)
        for function in custom_functions(source, event.first, event.last):
            forward = function.methods.get("forward")
            calls = [n for n in inside(forward) if isinstance(n, ast.Call)] if forward else []
            if any(source.called(call) == "set_grad_enabled" for call in calls):
                continue  # It is asked in order to be put back.
            for call in calls:
                if source.called(call) == "is_grad_enabled" and not _expects_false(source, call):
                    name = f"{function.name}.forward"
                    yield self.finding(
                        f"`{name}` runs with grad mode off, always: the answer is False, and says "
                        "nothing about the caller.",
                        fix=f"{_handed_in(source, function.name, source.words(call))}  # as one "
                        "more argument of forward; or any(ctx.needs_input_grad), of the inputs",
                        variable=name,
                        cause=source.place(call),
                    )


def _handed_in(source: Source, name: str, question: str) -> str:
    """Return a call of ``apply`` with one more argument."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and source.words(node.func) == f"{name}.apply":
            given = [source.words(part) for part in [*node.args, *node.keywords]]
            return f"{name}.apply({', '.join([*given, question])})"
    return f"{name}.apply(..., {question})"


def _expects_false(source: Source, call: ast.Call) -> bool:
    """Tell whether the question is an assertion, or is asked where grad mode was put on."""
    return _has_grad_mode(source, call) or isinstance(source.statement(call), ast.Assert)


def _has_grad_mode(source: Source, node: ast.AST) -> bool:
    """Tell whether a ``with`` around a node switches grad mode on."""
    for above in source.parents(node):
        if isinstance(above, ast.FunctionDef | ast.Lambda):
            decorators = getattr(above, "decorator_list", [])
            return any("enable_grad" in (source.called(d), source.last(d)) for d in decorators)
        if isinstance(above, ast.With) and any(
            source.called(item.context_expr) in ("enable_grad", "set_grad_enabled")
            for item in above.items
        ):
            return True
    return False


@register
class FunctionCalledAsInstance(Rule):
    """A custom function is made into an object and called.

    ``forward`` and ``backward`` are static methods, and are called through the class:
    ``F.apply(x)``. torch refuses to call an instance.

    Failing cell::

        class Relu(torch.autograd.Function):
            def forward(self, x):
                self.save_for_backward(x)
                return x.clamp(min=0)
            def backward(self, g):
                x, = self.saved_tensors
                return g * (x > 0)
        Relu()(torch.ones(1, requires_grad=True))       # RuntimeError

    Fixed::

        class Relu(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x.clamp(min=0)
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return g * (x > 0)
        Relu.apply(torch.ones(1, requires_grad=True))

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
    """

    kind = "custom_function"
    code = "LM802"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at torch's refusal, and for the class that was called."""
        place = model.place(event.site)
        if place is None or _LEGACY not in event.text:
            return
        source = source_at(place)
        called = place.source.partition("(")[0]
        known = {f.name: f for f in custom_functions(source)}
        name = called if called in known else _made_from(source, called)
        function = known.get(name) or (next(iter(known.values())) if len(known) == 1 else None)
        name = function.name if function is not None else (name or called)
        first = function.methods.get("forward") if function is not None else None
        if function is None or first is None or function.is_static(first):
            cause, fix = place, f"{name}.apply{_arguments(place)}"
        else:
            cause = _head(source, first)
            fix = f"@staticmethod  # above {_both(function)}, and {name}.apply{_arguments(place)}"
        apply = f"{name}.apply{_arguments(place)}"
        if not name:
            fix = "call apply of the class, with forward and backward as static methods"
        yield self.finding(
            f"{f'`{name}`' if name else 'a custom function'} is called through an object: forward "
            f"and backward have to be static, and are called as `{name or 'TheClass'}.apply`.",
            fix=fix,
            edits=()
            if function is None or apply.endswith("(...)")
            else restructure.called_by_class(function, place, apply),
            variable=name,
            cause=cause,
            symptom=place.line,
        )


def _head(source: Source, method: ast.FunctionDef) -> Place:
    """Return the place of the ``def`` line alone."""
    head = ast.Name("", ast.Load())
    first = method.body[0]
    last = method.args.args[-1] if method.args.args else None
    head.lineno = head.end_lineno = method.lineno
    head.col_offset = method.col_offset
    same = last is not None and last.end_lineno == method.lineno and first.lineno >= method.lineno
    head.end_col_offset = (last.end_col_offset or 0) + 1 if same and last is not None else None
    return source.place(head)


def _both(function: CustomFunction) -> str:
    return " and ".join(m for m in ("forward", "backward") if m in function.methods)


def _made_from(source: Source, variable: str) -> str:
    """Return the class whose object a variable is, as the text has it."""
    for node in source.nodes:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call)
            and isinstance(node.value.func, ast.Name)
            and any(source.words(target) == variable for target in node.targets)
        ):
            return node.value.func.id
    return ""


def _arguments(place: Place) -> str:
    """Return the arguments of the call of an object, with their parentheses."""
    try:
        call = ast.parse(place.source, mode="eval").body
    except SyntaxError:
        return "(...)"
    if not isinstance(call, ast.Call):
        return "(...)"
    given = [*call.args, *(k.value for k in call.keywords)]
    return f"({', '.join(map(ast.unparse, given))})"


@register
class GradInsideBackward(Rule):
    """``autograd.grad`` inside ``backward``, of something computed with grad mode off.

    Grad mode is off in ``backward``, unless ``create_graph=True``. What is computed there
    has no graph, so that there is nothing to differentiate.

    Failing cell::

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                x = x.detach().requires_grad_()
                out = x * x
                return torch.autograd.grad(out, x, g)[0]    # RuntimeError
        Square.apply(torch.ones(1, requires_grad=True)).backward()

    Fixed::

        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                x = x.detach().requires_grad_()
                with torch.enable_grad():
                    out = x * x
                return torch.autograd.grad(out, x, g)[0]
        Square.apply(torch.ones(1, requires_grad=True)).backward()

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
    """

    kind = "custom_function"
    code = "LM803"
    severity = "error"
    events = (Raised, SourceRead)

    def __init__(self) -> None:
        self._failed = ""
        """The file of a pass that raised, and whose reason was not found there."""

    def check(self, event: Any, model: Model) -> Iterator[Finding]:
        """Look at passes that raised though their roots have a graph."""
        if isinstance(event, SourceRead):
            if self._failed and not event.last and event.filename != self._failed:
                yield from self._search(source_read(event), model)
            return
        place = model.place(event.site)
        if place is None or _NO_GRAPH not in event.text or not refused_inside(event, model):
            return
        texts = (list(self._search(text, model)) for text in texts_with(model, "class", place))
        found = next((there for there in texts if there), [])
        yield from found
        self._failed = "" if found else place.filename

    def _search(self, source: Source, model: Model) -> Iterator[Finding]:
        names = {node.seen.name for node in model.nodes.values()}
        for function in custom_functions(source):
            backward = function.methods.get("backward")
            if backward is not None and f"{function.name}Backward" in names:
                yield from self._look(function, backward)

    def _look(self, function: CustomFunction, backward: ast.FunctionDef) -> Iterator[Finding]:
        source, values = function.source, Locals(function, backward)
        calls = [n for n in inside(backward) if isinstance(n, ast.Call)]
        if any(source.called(call) == "set_grad_enabled" for call in calls):
            return
        for call in calls:
            root = _differentiated(source, call)
            bound = values.value_at(root.id, call.lineno) if isinstance(root, ast.Name) else None
            if root is None or (isinstance(root, ast.Name) and bound is None):
                continue
            value = bound.value if bound is not None else root
            if _has_grad_mode(source, value):
                continue
            name, computed = source.words(root), source.words(source.statement(value))
            if bound is None or "\n" in computed:
                fix = f"with torch.enable_grad():  # around the computation of {name}"
            else:
                fix = f"with torch.enable_grad(): {computed}"
            yield self.finding(
                f"grad mode is off in `{function.name}.backward`, so that `{name}` is computed "
                "without a graph, and there is nothing to differentiate.",
                fix=fix,
                edits=restructure.with_graph(function, backward, call, value),
                variable=name,
                cause=source.place(value),
                symptom=call.lineno,
            )


def refused_root(event: Raised) -> tuple[int, ...]:
    """Return the root that torch says has no graph; nothing if a pass has fewer roots."""
    said = _ELEMENT.search(event.text)
    index = int(said.group(1)) if said is not None else 0
    return event.inputs[index : index + 1]


def refused_inside(event: Raised, model: Model) -> bool:
    """Tell whether the root that has no graph is not one of a failed pass, but of one inside it.

    What ``backward`` of a custom function differentiates is of no concern to the pass that
    called it: its own roots have a graph.
    """
    refused = refused_root(event)
    if not refused:
        return True
    root = model.tensor(refused[0])
    if root is not None and root.requires_grad:
        return True
    if len(event.inputs) > 1 and root is not None and not _made_in_forward(root, model):
        return False
    # The output of a custom function was seen in its forward, when it had none.
    began = model.passes[-1].ordinal if model.passes else -1
    return any(node.made.ordinal == began for node in model.nodes.values())


def _made_in_forward(record: TensorRecord, model: Model) -> bool:
    place = model.place(record.made.site)
    return place is not None and place.function.endswith(".forward") and not record.grad_enabled


def _differentiated(source: Source, call: ast.Call) -> ast.expr | None:
    """Return what a call differentiates; None if it differentiates nothing."""
    path = source.in_torch(call.func)
    if path in ("torch.autograd.grad", "torch.autograd.backward"):
        first: Any = call.args[0] if call.args else None
        if isinstance(first, ast.Tuple | ast.List) and len(first.elts) == 1:
            return first.elts[0]
        return first if isinstance(first, ast.expr) else None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "backward" and not path:
        return call.func.value
    return None

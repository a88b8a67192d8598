"""What torch.compile changes about in-place writes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.cell import Place
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.fixes import (
    out_of_place,
    replace_statement,
    under_no_grad,
    wrap_statement,
)
from leafmagic.findings.source import Function, Source, mentions, source_at, source_read
from leafmagic.looks import Raised, SourceRead
from leafmagic.model import Model


@register
class CompiledLeafWrite(Rule):
    """A compiled function writes in place to a leaf that requires grad.

    That is refused in eager mode, too. In a compiled function the refusal comes while
    it is traced, inside another error, with the line of the call.

    Failing cell::

        @torch.compile(backend="aot_eager")
        def f(x):
            x.add_(1)
            return x * 2
        f(torch.zeros(2, requires_grad=True))      # TorchRuntimeError

    Fixed::

        @torch.compile(backend="aot_eager")
        def f(x):
            return (x + 1) * 2
        f(torch.zeros(2, requires_grad=True))

    References
    ----------
    https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
    """

    kind = "parallel_compile"
    code = "LM941"
    severity = "error"
    events = (Raised,)

    def check(self, event: Raised, model: Model) -> Iterator[Finding]:
        """Look at the line of the user's at which torch.compile gave up."""
        inside, call = event.inside, model.place(event.site)
        if inside is None or "leaf Variable that requires grad" not in inside.text:
            return
        source = source_at(Place(inside.filename, inside.label, "", inside.line, inside.line))
        written = _write_at(source, inside.line)
        place = source.place(written[0]) if written is not None else None
        variable = written[1] if written is not None else ""
        yield self.finding(
            f"`{variable or 'what is written here'}` is a leaf that requires grad, and the "
            "compiled function writes to it in place.",
            fix=under_no_grad(place)
            if place is not None
            else "write under torch.no_grad(), or make a new tensor",
            variable=variable,
            cause=place or call,
            symptom=None if call is None else call.line,
            edits=wrap_statement(place, "with torch.no_grad():") if place is not None else (),
        )


def _write_at(source: Source, line: int) -> tuple[ast.AST, str] | None:
    """Return the in-place op of a line, and what it writes to."""
    for node in source.within(line, line):
        target = _written(node)
        if target is not None:
            return node, source.words(target)
    return None


def _written(node: ast.AST) -> ast.expr | None:
    """Return what a node of a text writes to in place; None where it does not."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        return node.func.value if name.endswith("_") and not name.endswith("__") else None
    if isinstance(node, ast.AugAssign):
        target = node.target
        return target.value if isinstance(target, ast.Subscript) else target
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return node.targets[0].value
    return None


@register
class CompiledAlias(Rule):
    """A compiled function writes in place to what an inactive dropout returned.

    With ``training=False`` dropout returns its input itself, and a write to the result
    changes the input. In a compiled function the result is a tensor of its own, and the
    input stays as it was: eager and compiled code differ, silently.

    Failing cell::

        import torch.nn.functional as F
        @torch.compile(backend="aot_eager")
        def scale_(h):
            out = F.dropout(h, p=0.3, training=False)
            out.mul_(10)
            return out.sum()
        h = torch.ones(3)
        scale_(h)
        print(h)               # 10, 10, 10 in eager mode, 1, 1, 1 here

    Fixed::

        import torch.nn.functional as F
        @torch.compile(backend="aot_eager")
        def scaled(h):
            out = F.dropout(h, p=0.3, training=False)
            out = out * 10
            return out.sum()
        h = torch.ones(3)
        scaled(h)
        print(h)

    References
    ----------
    https://github.com/pytorch/pytorch/issues/195422
    """

    kind = "parallel_compile"
    code = "LM942"
    events = (SourceRead,)

    def check(self, event: SourceRead, model: Model) -> Iterator[Finding]:  # noqa: ARG002
        """Read the functions of the text that are given to torch.compile."""
        if "compile" not in event.text or not mentions(event, "dropout"):
            return
        source = source_read(event)
        for function in _compiled(source):
            for call in ast.walk(function):
                if isinstance(call, ast.Assign) and event.first <= call.lineno <= event.last:
                    yield from self._alias(source, function, call)

    def _alias(self, source: Source, function: Function, made: ast.Assign) -> Iterator[Finding]:
        given = _passed_on(source, made.value)
        target = made.targets[0]
        if given is None or not isinstance(target, ast.Name):
            return
        writes = [node for node in ast.walk(function) if _is_write(node, target.id, made.lineno)]
        if not writes or not _matters(function, given.id, writes[0]):
            return
        write = writes[0]
        statement = source.place(write)
        fix = out_of_place(statement, target.id)
        yield self.finding(
            f"eager, `{target.id}` is `{given.id}` itself, and line {statement.line} changes both; "
            f"compiled, `{given.id}` stays as it was.",
            fix=fix or f"{target.id} = {target.id}.clone()  # before line {statement.line}",
            variable=target.id,
            cause=source.place(made.value),
            symptom=statement.line,
            edits=replace_statement(statement, fix) if fix else (),
        )


def _is_write(node: ast.AST, name: str, after: int) -> bool:
    target = _written(node)
    return (
        isinstance(target, ast.Name)
        and target.id == name
        and int(getattr(node, "lineno", 0)) > after
    )


def _matters(function: Function, name: str, write: ast.AST) -> bool:
    """Tell whether anyone sees the input after the write: the caller, or what follows."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    last = getattr(write, "end_lineno", 0)
    stores = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
    ]
    if any(argument.arg == name for argument in every) and not stores:
        return True
    return any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and node.lineno > last
        for node in ast.walk(function)
    )


def _passed_on(source: Source, node: ast.AST) -> ast.Name | None:
    """Return the variable that an inactive dropout is called with."""
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Name):
        return None
    if source.called(node) != "dropout":
        return None
    named = {keyword.arg: keyword.value for keyword in node.keywords}
    training = named.get("training", named.get("train"))
    if training is None and len(node.args) > 2:
        training = node.args[2]
    rate = named.get("p", node.args[1] if len(node.args) > 1 else None)
    inplace = named.get("inplace", node.args[3] if len(node.args) > 3 else None)
    off = isinstance(training, ast.Constant) and training.value is False
    off = off or (isinstance(rate, ast.Constant) and rate.value == 0)
    return node.args[0] if off and not _is_true(inplace) else None


def _is_true(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is True


def _compiled(source: Source) -> Iterator[Function]:
    """Yield what torch.compile is given: functions, and the ``forward`` of modules."""
    given = [
        node.args[0]
        for node in source.nodes
        if isinstance(node, ast.Call)
        and source.in_torch(node.func) == "torch.compile"
        and node.args
    ]
    names = {node.id for node in given if isinstance(node, ast.Name)}
    kinds = {_made_by(node) for node in given}
    for node in source.nodes:
        if isinstance(node, ast.Assign):
            kinds |= {kind for name, kind in _instances(node) if name in names}
    for node in source.nodes:
        if not isinstance(node, Function):
            continue
        marks = [m.func if isinstance(m, ast.Call) else m for m in node.decorator_list]
        above = next(source.parents(node), None)
        module = above.name if isinstance(above, ast.ClassDef) and node.name == "forward" else ""
        if (
            (node.name in names and not isinstance(above, ast.ClassDef))
            or (module and module in kinds)
            or any(source.in_torch(m) == "torch.compile" for m in marks)
        ):
            yield node


def _instances(node: ast.Assign) -> Iterator[tuple[str, str]]:
    """Yield the names that a statement gives to what a call by name makes, and that name."""
    target, value = node.targets[0], node.value
    pairs: list[tuple[ast.expr, ast.expr]] = [(target, value)]
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        pairs = list(zip(target.elts, value.elts, strict=False))
    for one, made in pairs:
        if isinstance(one, ast.Name) and _made_by(made):
            yield one.id, _made_by(made)


def _made_by(node: ast.expr) -> str:
    return node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""

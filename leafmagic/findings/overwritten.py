"""Forward hooks that see an input after the module wrote to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from leafmagic.cell import source_of
from leafmagic.findings.base import Finding, Rule, register
from leafmagic.findings.fixes import insert_before
from leafmagic.findings.source import Source
from leafmagic.looks import ModuleHooked
from leafmagic.model import Model

_METADATA = frozenset(
    {
        "device",
        "dim",
        "dtype",
        "element_size",
        "is_contiguous",
        "is_cuda",
        "is_leaf",
        "layout",
        "names",
        "ndim",
        "nelement",
        "numel",
        "requires_grad",
        "shape",
        "size",
        "stride",
    }
)
_ASKING = frozenset({"len", "type", "isinstance", "id"})


@register
class HookSeesOverwritten(Rule):
    """A forward hook looks at the input of a module that works in place.

    A forward hook runs after the module. One with ``inplace=True`` has put its output
    where the input was, so that the hook finds the output twice.

    Failing cell::

        act = torch.nn.ReLU(inplace=True)
        seen = []
        act.register_forward_hook(lambda mod, inp, out: seen.append(inp[0].tolist()))
        act(torch.tensor([5., -5.]))
        print(seen)            # 5, 0

    Fixed::

        act = torch.nn.ReLU(inplace=True)
        seen = []
        act.register_forward_pre_hook(lambda mod, inp: seen.append(inp[0].tolist()))
        act(torch.tensor([5., -5.]))
        print(seen)            # 5, -5

    References
    ----------
    https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
    """

    kind = "hook_surprise"
    code = "LM915"
    events = (ModuleHooked,)

    def check(self, event: ModuleHooked, model: Model) -> Iterator[Finding]:
        """Read the code of the hooks of a module that wrote to its input."""
        for filename, line, argument in event.hooks:
            if _looks_at(filename, line, argument):
                yield self._told(event, model, line)
                return

    def _told(self, event: ModuleHooked, model: Model, line: int) -> Finding:
        place = model.place(event.site)
        variable = _spelt(event.path)
        code = f"{variable}.inplace = False" if variable else ""
        code = "" if variable.startswith("self") else code
        return self.finding(
            f"`{variable or event.name}` works in place: its forward hook (line {line}) is called "
            "when the input holds the output already.",
            fix=code
            or f"look at the input in register_forward_pre_hook, or use {event.name} with "
            "inplace=False",
            variable=variable or event.name,
            cause=place,
            edits=insert_before(place, code) if place is not None and code else (),
        )


def _spelt(path: str) -> str:
    """Spell a path as code: ``net[1].act`` for ``net.1.act``."""
    head, *parts = path.split(".")
    return head + "".join(f"[{p}]" if p.isdigit() else f".{p}" for p in parts)


def _looks_at(filename: str, line: int, argument: str) -> bool:
    """Tell whether the function that begins at a line looks at the values of an argument."""
    source = Source(source_of(filename), filename, "")
    for node in source.nodes:
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            continue
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(mark.lineno for mark in decorators)])
        arguments = [*node.args.posonlyargs, *node.args.args]
        named = any(one.arg == argument for one in arguments)
        if first == line and named and _uses_values(source, node, argument):
            return True
    return False


def _uses_values(source: Source, function: ast.FunctionDef | ast.Lambda, argument: str) -> bool:
    """Follow an argument, and variables that stand for it or for its items."""
    names = [argument]
    for name in names:
        for node in ast.walk(function):
            if not isinstance(node, ast.Name) or node.id != name:
                continue
            if not isinstance(node.ctx, ast.Load):
                continue
            bound = _use(source, node)
            if bound is None:
                return True
            names += [one for one in bound if one not in names]
    return False


def _use(source: Source, node: ast.Name) -> list[str] | None:
    """Return the names that a use of a variable binds to it; None if it uses the values."""
    used: ast.AST = node
    above: ast.AST | None = None
    for above in source.parents(node):
        if not (isinstance(above, ast.Subscript) and above.value is used):
            break
        used = above
    targets: list[ast.expr] = []
    if isinstance(above, ast.Attribute) and above.attr in _METADATA:
        return []
    if isinstance(above, ast.Call) and getattr(above.func, "id", "") in _ASKING:
        return []
    if isinstance(above, ast.Assign) and above.value is used:
        targets = above.targets
    elif isinstance(above, ast.For | ast.comprehension) and above.iter is used:
        targets = [above.target]
    if not targets:
        return None
    return [part.id for at in targets for part in ast.walk(at) if isinstance(part, ast.Name)]

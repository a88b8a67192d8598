"""Reading the source: where a module's attributes are set, and what its ``forward`` makes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from leafmagic.cell import Place
from leafmagic.findings.flows import calls
from leafmagic.findings.source import Function, Source, source_at
from leafmagic.looks import ModuleSeen

_IN_TORCH = re.compile(r"^(?:torch\.)?nn\.(\w+)$")
_LAYERS = re.compile(
    r"^(Linear|Bilinear|Conv\w+|Embedding\w*|LSTM\w*|GRU\w*|RNN\w*|\w+Norm\w*|Transformer\w*"
    r"|MultiheadAttention|PReLU)$"
)


class Setting(NamedTuple):
    """A statement that sets an attribute, and the value that it gets.

    Attributes
    ----------
    node : ast.stmt
    target : str
        What is set, as the source spells it: ``self.w``.
    value : ast.expr or None
        None where it is not written there by itself.
    computed : bool
        Whether the name is an expression, as in ``setattr(self, f"w{i}", value)``.
    """

    node: ast.stmt
    target: str
    value: ast.expr | None
    computed: bool = False


def self_of(method: Function) -> str:
    """Return what a method calls its object."""
    given = [*method.args.posonlyargs, *method.args.args]
    return given[0].arg if given else "self"


def self_at(source: Source, node: ast.AST) -> str:
    """Return what the method around a piece of code calls its object; empty outside of one."""
    for above in source.parents(node):
        if isinstance(above, Function) and isinstance(
            next(source.parents(above), None), ast.ClassDef
        ):
            return self_of(above)
    return ""


def setting_in(source: Source, part: ast.AST, target: str) -> Setting | None:
    """Return the first statement in a piece of code that sets ``self.w`` or its like."""
    owner, _, name = target.rpartition(".")
    for node in ast.walk(part):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for one in targets:
                if source.words(one) == target:
                    return Setting(node, target, node.value)
                if isinstance(one, ast.Tuple | ast.List):
                    names = [source.words(item) for item in one.elts]
                    if target in names:
                        return Setting(node, target, _item(node.value, names, target))
        elif isinstance(node, ast.Call) and len(node.args) == 3:
            if source.words(node.func) != "setattr" or source.words(node.args[0]) != owner:
                continue
            statement = source.statement(node)
            if isinstance(statement, ast.stmt) and (how := _spells(node.args[1], name)):
                return Setting(statement, target, node.args[2], how == "computed")
    return None


def _item(value: ast.AST | None, names: list[str], target: str) -> ast.expr | None:
    """Return the part of ``a, b = x, y`` that a target gets."""
    if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != len(names):
        return None
    return value.elts[names.index(target)]


def _spells(node: ast.expr, name: str) -> str:
    """Tell whether an expression may be the name of an attribute, and how."""
    if isinstance(node, ast.Constant):
        return "name" if node.value == name else ""
    if not isinstance(node, ast.JoinedStr):
        return "computed"
    parts = [
        re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*"
        for part in node.values
    ]
    return "computed" if re.fullmatch("".join(parts), name) else ""


class Home:
    """The class that a module of the user's is of, in the text.

    Parameters
    ----------
    seen : ModuleSeen
    """

    def __init__(self, seen: ModuleSeen) -> None:
        self.path = seen.path
        self.source: Source = source_at(Place(seen.filename, seen.label, "", 1, 1))
        self.node: ast.ClassDef | None = None
        for node in self.source.nodes:
            if (
                isinstance(node, ast.ClassDef)
                and node.name == seen.name
                and node.lineno <= seen.line <= (node.end_lineno or 0)
            ):
                self.node = node

    def methods(self) -> Iterator[Function]:
        """Yield the methods of the class."""
        if self.node is not None:
            yield from (part for part in self.node.body if isinstance(part, Function))

    def setting(self, attribute: str, *, first: bool = True) -> Setting | None:
        """Return what sets an attribute: in ``__init__``, if there."""
        for method in sorted(self.methods(), key=lambda m: m.name != "__init__"):
            if first and method.name == "forward":
                continue
            found = setting_in(self.source, method, f"{self_of(method)}.{attribute}")
            if found is not None:
                return found
        return None

    def made_in_forward(self) -> Iterator[tuple[ast.Call, ast.Assign | None, str]]:
        """Yield the parameters and layers that each call of ``forward`` makes anew.

        Yields
        ------
        call : ast.Call
        assigned : ast.Assign or None
            The statement that gives it a name.
        what : str
            ``Parameter``, or the class of the layer.
        """
        forward = next((m for m in self.methods() if m.name == "forward"), None)
        if forward is None:
            return
        helped = calls(forward)
        for method in self.methods():
            if method is not forward and (method.name not in helped or method.name == "__init__"):
                continue
            for node in ast.walk(method):
                what = self._trainable(node)
                if what and isinstance(node, ast.Call) and not self._is_guarded(node, method):
                    yield node, self._assigned(node, method), what

    def _trainable(self, node: ast.AST) -> str:
        """Return the class of what a call makes, if it has something to be trained."""
        if not isinstance(node, ast.Call):
            return ""
        frozen = any(
            k.arg == "requires_grad" and isinstance(k.value, ast.Constant) and not k.value.value
            for k in node.keywords
        )
        path = self.source.in_torch(node.func) or self.source.words(node.func)
        found = _IN_TORCH.match(path)
        name = found.group(1) if found else path
        if path.startswith("torch.nn."):
            name = path.rpartition(".")[2]
        if frozen or not (name == "Parameter" or (path != name and _LAYERS.match(name))):
            return ""
        return name

    def _is_guarded(self, node: ast.AST, method: ast.AST) -> bool:
        """Tell whether something is made under a condition only, such as the first time."""
        for above in self.source.parents(node):
            if above is method:
                return False
            if isinstance(above, ast.If | ast.IfExp | ast.Try | ast.While | Function | ast.Lambda):
                return True
        return True

    def _assigned(self, node: ast.AST, method: ast.AST) -> ast.Assign | None:
        for above in self.source.parents(node):
            if isinstance(above, ast.Assign):
                return above
            if above is method or isinstance(above, ast.stmt):
                return None
        return None


def home_of(modules: tuple[ModuleSeen, ...], path: str) -> tuple[Home, str] | None:
    """Return the class that a tensor's path leads through last, and the attribute there.

    ``net.0.fc.weight`` gives the class of ``net.0``, if it is the user's own, and ``fc``.
    """
    inside = [seen for seen in modules if path.startswith(f"{seen.path}.")]
    if not inside:
        return None
    seen = max(inside, key=lambda one: len(one.path))
    rest = path[len(seen.path) + 1 :]
    return Home(seen), re.split(r"[.\[]", rest)[0]

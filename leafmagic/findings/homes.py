"""Reading the source: where a module's attributes are set, and what its ``forward`` makes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from leafmagic.cell import Place
from leafmagic.findings.flows import calls
from leafmagic.findings.source import Function, Source, source_at
from leafmagic.looks import ModuleSeen

_IN_TORCH = re.compile(r"^(?:torch\.)?nn\.(\w+)$")
_LAYERS = re.compile(
    r"^(Linear|Bilinear|Conv\w+|Embedding\w*|LSTM\w*|GRU\w*|RNN\w*|\w+Norm\w*|Transformer\w*"
    r"|MultiheadAttention|PReLU)$"
)


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

    def assignment(self, attribute: str, *, first: bool = True) -> ast.Assign | None:
        """Return where ``self.attribute`` is set: in ``__init__``, if there."""
        for method in sorted(self.methods(), key=lambda m: m.name != "__init__"):
            if first and method.name == "forward":
                continue
            for node in ast.walk(method):
                if isinstance(node, ast.Assign) and any(
                    self.source.words(target) == f"self.{attribute}" for target in node.targets
                ):
                    return node
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

"""Reading a custom ``autograd.Function``: its methods, what it saves and what it computes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from leafmagic.findings.source import Function, Source
from leafmagic.looks import SourceRead


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TENSOR_METHODS = _words(
    """
    abs add addmm argmax argmin argsort bernoulli bmm bool ceil clamp clone contiguous cos
    cumsum detach div double exp exp_ expand expm1 fill_ flatten float floor gather half
    isfinite isinf isnan int log log1p log_softmax logical_not logsumexp long masked_fill
    matmul mean mm mul neg new_empty new_full new_ones new_tensor new_zeros norm permute pow
    prod reciprocal relu reshape round rsqrt sigmoid sign sin softmax sqrt square squeeze
    std sub sum t tan tanh transpose tril triu unsqueeze var view zero_
    """
)
"""Methods that return a tensor, and that few things but tensors have."""

TENSOR_FUNCTIONS = TENSOR_METHODS | _words(
    """
    arange as_tensor cat cdist clip conv1d conv2d cosh dot einsum empty empty_like eye erf
    eq full full_like ge gelu gt layer_norm le linear linspace lt maximum minimum normal
    ones ones_like outer rand rand_like randn randn_like randint randperm sinh stack tensor
    where zeros zeros_like
    """
)
"""Functions of torch that return a tensor, as all functions of these names do."""

_CONSTANT = _words(
    """
    argmax argmin argsort as_tensor arange bernoulli bernoulli_ bool ceil detach empty
    empty_like eq floor full full_like ge gt int isfinite isinf isnan item le len linspace
    logical_and logical_not logical_or long lt ne new_empty new_full new_ones new_tensor
    new_zeros nonzero normal numel ones ones_like rand rand_like randint randn randn_like
    randperm round sign size tensor tolist zeros zeros_like
    """
)
"""Calls whose result does not vary smoothly with what they are given."""

_TENSOR_ATTRIBUTES = TENSOR_METHODS | _words("shape dtype device size numel dim ndim")
_FIXED = _words("shape dtype device data ndim layout itemsize")

_SAME = _words("contiguous to float double half cuda cpu type type_as")
"""Calls that may give back the tensor itself."""

_NO_END = 1 << 30

_WITH_INDICES = _words("max min sort topk median mode kthvalue cummax cummin")


@dataclass(frozen=True)
class CustomFunction:
    """A class derived from ``torch.autograd.Function``."""

    source: Source
    node: ast.ClassDef
    methods: dict[str, ast.FunctionDef]

    @property
    def name(self) -> str:
        """Its name; autograd calls the node after it."""
        return self.node.name

    def is_static(self, method: ast.FunctionDef) -> bool:
        """Tell whether a method is static, or a class method."""
        names = {getattr(d, "id", "") for d in method.decorator_list}
        return bool(names & {"staticmethod", "classmethod"})

    def parameters(self, method: ast.FunctionDef) -> list[str]:
        """Return the names of the parameters; those of ``*args`` last."""
        given = method.args
        names = [a.arg for a in [*given.posonlyargs, *given.args, *given.kwonlyargs]]
        return [*names, *([given.vararg.arg] if given.vararg is not None else [])]

    def context(self, method: ast.FunctionDef) -> str:
        """Return what a method calls ``ctx``; empty where it is not given it."""
        if method.name == "forward" and "setup_context" in self.methods:
            return ""
        names = self.parameters(method)
        decorators = {getattr(d, "id", "") for d in method.decorator_list}
        skipped = 1 if "classmethod" in decorators else 0
        return names[skipped] if len(names) > skipped else ""

    @property
    def savers(self) -> list[ast.FunctionDef]:
        """The methods that prepare ``ctx``."""
        found = (self.methods.get(name) for name in ("forward", "setup_context"))
        return [method for method in found if method is not None and self.context(method)]


def custom_functions(source: Source, first: int = 1, last: int = _NO_END) -> list[CustomFunction]:
    """List the custom functions defined in these lines."""
    found: list[CustomFunction] = []
    for node in source.within(1, last):
        if isinstance(node, ast.ClassDef) and any(
            source.in_torch(base).startswith("torch.autograd.") and source.last(base) == "Function"
            for base in node.bases
        ):
            methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
            if node.lineno >= first:
                found.append(CustomFunction(source, node, methods))
    return found


def reached(source: Source, event: SourceRead) -> list[CustomFunction]:
    """List the custom functions of the traced lines; of another file, all of them."""
    return custom_functions(source, event.first, event.last or _NO_END)


def inside(method: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a method; functions defined in it are left out."""
    queue: list[ast.AST] = list(getattr(method, "body", []))
    for node in queue:
        yield node
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            queue.extend(ast.iter_child_nodes(node))


def calls_of(method: ast.AST, attribute: str) -> list[ast.Call]:
    """List the calls of a method of something, such as ``ctx.save_for_backward(...)``."""
    return [
        node
        for node in inside(method)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == attribute
    ]


@dataclass(frozen=True)
class Binding:
    """A name bound to a value, or to one element of it (`index`; -1 for all of it)."""

    line: int
    value: ast.expr
    index: int = -1


class Locals:
    """What the names in a method stand for.

    Parameters
    ----------
    function : CustomFunction
    method : ast.FunctionDef
        Its ``forward`` or ``setup_context``.
    """

    def __init__(self, function: CustomFunction, method: ast.FunctionDef) -> None:
        self.source, self.method = function.source, method
        self.ctx = function.context(method)
        self.parameters = set(function.parameters(method)) - {self.ctx, "self", "cls"}
        self.bindings: dict[str, list[Binding]] = {}
        for node in inside(method):
            for name, binding in _bindings(node):
                self.bindings.setdefault(name, []).append(binding)
        self.saved = [arg for call in calls_of(method, "save_for_backward") for arg in call.args]
        self.tensors = self._tensor_parameters(function)
        self.results = self._results()

    def _tensor_parameters(self, function: CustomFunction) -> set[str]:
        """Return the parameters that are used as tensors are."""
        names = function.parameters(self.method)
        after = names[names.index(self.ctx) + 1 :] if self.ctx in names else names
        # What `setup_context` is given are the inputs and the output of `forward`.
        found = set(after[:1]) if self.method.name == "forward" else set(after)
        found |= {node.id for node in self.saved if isinstance(node, ast.Name)}
        for node in inside(self.method):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.attr in _TENSOR_ATTRIBUTES
            ):
                found.add(node.value.id)
        return found & self.parameters

    def _results(self) -> set[str]:
        found: set[str] = set()
        for node in inside(self.method):
            if isinstance(node, ast.Return) and node.value is not None:
                value = node.value
                parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
                found |= {part.id for part in parts if isinstance(part, ast.Name)}
        return found

    def value_at(self, name: str, line: int) -> Binding | None:
        """Return what a name was last bound to before a line."""
        before = [b for b in self.bindings.get(name, []) if b.line <= line]
        return max(before, key=lambda b: b.line, default=None)

    def makes_tensor(self, node: ast.expr) -> bool:
        """Tell whether an expression is a tensor for certain."""
        queue: list[ast.expr] = [node]
        visited: set[str] = set()
        for part in queue:
            if isinstance(part, ast.Name):
                bound = self.bindings.get(part.id, [])
                if not bound and part.id in self.tensors and part is not node:
                    return True
                if part.id not in visited:
                    queue += [b.value for b in bound if b.index < 0]
                visited.add(part.id)
            elif isinstance(part, ast.Call) and self._is_op(part.func):
                return True
            queue += _same_kind(part)
        return False

    def _is_op(self, node: ast.expr) -> bool:
        """Tell whether what is called is an op of torch, or a method of an input."""
        if isinstance(node, ast.Attribute) and node.attr in TENSOR_METHODS:
            owner = node.value
            if isinstance(owner, ast.Name) and owner.id in self.parameters:
                return True
        path = self.source.in_torch(node)
        home, _, op = path.rpartition(".")
        return op in TENSOR_FUNCTIONS and home in ("torch", "torch.nn.functional", "torch._C._nn")

    def varies(self, node: ast.expr, line: int) -> bool:
        """Tell whether an expression was computed smoothly from an input, and is none itself."""
        queue: list[ast.AST] = [node]
        if isinstance(node, ast.Name):
            bound = self.value_at(node.id, line)
            if node.id in self.results or bound is None or _is_index(bound):
                return False
            queue = [bound.value]
        if not isinstance(queue[0], ast.expr) or self.is_input(queue[0]):
            return False
        if not isinstance(queue[0], ast.BinOp | ast.UnaryOp | ast.Call | ast.Name):
            return False
        visited: set[str] = set()
        for part in queue:
            if not isinstance(part, ast.Name):
                queue.extend(_smooth_parts(part))
                continue
            if part.id in self.tensors:
                return True
            bound = self.value_at(part.id, line)
            if bound is not None and part.id not in visited and not _is_index(bound):
                queue.append(bound.value)
            visited.add(part.id)
        return False

    def is_input(self, value: ast.expr) -> bool:
        """Tell whether an expression may give an input of the function itself."""
        while (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and value.func.attr in _SAME
        ):
            value = value.func.value
        if isinstance(value, ast.Subscript) and self.method.name == "setup_context":
            value = value.value
        return isinstance(value, ast.Name) and value.id in self.parameters


def _same_kind(node: ast.expr) -> list[ast.expr]:
    """Return the parts of an expression that make it a tensor if they are."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.Compare):
        tested = isinstance(node.ops[0], ast.Is | ast.IsNot | ast.In | ast.NotIn)
        return [] if tested else [node.left, *node.comparators]
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [node.func.value] if node.func.attr in TENSOR_METHODS else []
    return []


def _smooth_parts(node: ast.AST) -> list[ast.AST]:
    """Return the parts that the value of an expression varies smoothly with."""
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        constant = (name or getattr(node.func, "id", "")) in _CONSTANT
        return [] if constant else [node.func, *node.args]
    if isinstance(node, ast.Attribute):
        return [] if node.attr in _FIXED else [node.value]
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.Compare | ast.Lambda):
        return []
    return list(ast.iter_child_nodes(node))


def _is_index(bound: Binding) -> bool:
    """Tell whether a name stands for the indices that an op gives beside its values."""
    call = bound.value
    if bound.index < 1 or not isinstance(call, ast.Call):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name in _WITH_INDICES or any(k.arg == "return_indices" for k in call.keywords)


def _bindings(node: ast.AST) -> Iterator[tuple[str, Binding]]:
    """Yield the names that a statement binds, with their values."""
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
        pairs = [(node.target, node.value)]
    elif isinstance(node, ast.AugAssign):
        pairs = [(node.target, ast.BinOp(node.target, node.op, node.value))]
    else:
        return
    for target, value in pairs:
        if isinstance(target, ast.Name):
            yield target.id, Binding(node.lineno, value)
        elif isinstance(target, ast.Tuple | ast.List):
            matched = isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts)
            for index, part in enumerate(target.elts):
                if isinstance(part, ast.Name):
                    if matched and isinstance(value, ast.Tuple):
                        yield part.id, Binding(node.lineno, value.elts[index])
                    else:
                        yield part.id, Binding(node.lineno, value, index)

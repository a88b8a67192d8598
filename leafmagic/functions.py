"""Which torch functions matter, and how. A table, filled as functions are met."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

WriteCheck = Callable[[Any, Any], bool] | None
"""From the arguments of a call to whether it may change one of them; None: it never does."""

IGNORE, OP, READ, WRITE, CALL, BACKWARD, GRAD_MODE, SINK = range(8)
"""What to do when a function is seen: nothing; record an op; record a property read or
write; record a method call on a tensor; a backward pass; a switch of grad mode; an op
whose result is not a tensor."""

_READ = {"grad": "grad", "data": "data"}
_WRITTEN = {"grad": "set_grad", "data": "set_data", "requires_grad": "set_requires_grad"}
_DERIVED = {"T", "mT", "H", "mH", "real", "imag"}
_CALLED = {"retain_grad", "register_hook", "requires_grad_"}
_SINKS = {"item", "tolist", "numpy", "__float__", "__int__", "__array__", "__index__"}
_IGNORED = {
    "__bool__",
    "__contains__",
    "__dir__",
    "__format__",
    "__hash__",
    "__len__",
    "__reduce_ex__",
    "__repr__",
    "__str__",
    "_has_compatible_shallow_copy_type",
    "_is_view",
    "allclose",
    "data_ptr",
    "dim",
    "dim_order",
    "element_size",
    "equal",
    "get_device",
    "has_names",
    "is_complex",
    "is_conj",
    "is_contiguous",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_pinned",
    "is_same_size",
    "is_set_to",
    "is_shared",
    "is_signed",
    "is_tensor",
    "ndimension",
    "nelement",
    "numel",
    "result_type",
    "size",
    "storage",
    "storage_offset",
    "storage_type",
    "stride",
    "typed_storage",
    "untyped_storage",
}


def classify(func: Any) -> tuple[int, str]:
    """Return what to do about a torch function, and the name the reader knows it by.

    Parameters
    ----------
    func : callable
        As a ``TorchFunctionMode`` is given it.
    """
    name = getattr(func, "__name__", "") or type(func).__name__
    if name in ("__get__", "__set__", "__delete__"):
        return _classify_property(getattr(getattr(func, "__self__", None), "__name__", ""), name)
    if name == "_set_grad_enabled":
        return GRAD_MODE, name
    module = getattr(func, "__module__", None) or ""
    if name == "backward" or (name == "grad" and module == "torch.autograd"):
        return BACKWARD, name
    if name in _CALLED:
        return CALL, name
    if name in _SINKS:
        return SINK, name
    if name in _IGNORED or "_record_function" in name:
        return IGNORE, name
    return OP, plain_name(name)


def _classify_property(attribute: str, access: str) -> tuple[int, str]:
    if access == "__get__":
        if attribute in _READ:
            return READ, _READ[attribute]
        if attribute in _DERIVED:
            return OP, attribute
    elif attribute in _WRITTEN:
        return WRITE, _WRITTEN[attribute]
    return IGNORE, attribute


def plain_name(name: str) -> str:
    """Strip what Python's operator methods add: ``__rsub__`` is ``sub``, to the reader."""
    if name in ("__getitem__", "__setitem__"):
        return name.strip("_")
    if not (name.startswith("__") and name.endswith("__")):
        return name
    core = name.strip("_")
    if core.startswith("i") and core[1:] in _OPERATORS:
        return core[1:] + "_"
    if core.startswith("r") and core[1:] in _OPERATORS:
        return core[1:]
    return core


_OPERATORS = {
    "add", "sub", "mul", "truediv", "floordiv", "div", "mod", "pow", "matmul", "and", "or",
    "xor", "lshift", "rshift",
}  # fmt: skip


def writes_in_place(op: str) -> bool:
    """Tell from its name whether an op changes its first argument."""
    return op == "setitem" or (op.endswith("_") and not op.endswith("__"))


_WRITES_BUFFERS = {"batch_norm", "instance_norm", "embedding", "embedding_bag"}
"""Functions of torch.nn.functional that change an argument, whatever it is called with."""


def write_check(func: Any, op: str) -> WriteCheck:
    """Return what tells from a call's arguments whether it may change one of them."""
    if writes_in_place(op):
        return _always
    if type(func) is not FunctionType:
        return None
    module = func.__module__ or ""
    if module == "torch.nn.functional" and op not in _WRITES_BUFFERS:
        names = list(inspect.signature(func).parameters)
        return _asked(names.index("inplace")) if "inplace" in names else None
    if module in ("torch.functional", "torch._tensor"):
        return None
    # torch.nn.init, and what others wrote: only afterwards it can be told.
    return _always


def _always(_args: Any, _kwargs: Any) -> bool:
    return True


def _asked(position: int) -> Callable[[Any, Any], bool]:
    def check(args: Any, kwargs: Any) -> bool:
        return bool(args[position] if len(args) > position else kwargs.get("inplace"))

    return check

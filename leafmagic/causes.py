"""Why a function has no gradient where it was called: what its node saved says so."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from leafmagic.autograd import KNOWN_TYPES
from leafmagic.counting import is_unsound
from leafmagic.marks import ACCUMULATE_GRAD


class Cause(NamedTuple):
    """What was found among the values that a node saved.

    Attributes
    ----------
    what : str
        ``zero``, ``negative``, ``overflow``, ``edge``, ``empty``, ``single``, ``factor`` or
        nothing.
    number, total : int
        How many elements of how many.
    """

    what: str = ""
    number: int = 0
    total: int = 0


def saved(node: Any, slot: str) -> Tensor | None:
    """Return a tensor that a node saved; None where it cannot be read without a detour."""
    raw = getattr(node, f"_raw_saved_{slot}", None)
    if raw is None or getattr(raw, "unpack_hook", None) is not None:
        return None
    try:
        value = getattr(node, f"_saved_{slot}")
    except RuntimeError:
        # Changed in place, or freed: backward will say so.
        return None
    if type(value) not in KNOWN_TYPES or value.layout != torch.strided:
        return None
    readable = value.is_floating_point() or not value.is_complex()
    return value.detach() if readable and value.device.type == "cpu" else None


def _first(what: str, mask: Tensor) -> Cause | None:
    count = int(mask.sum())
    return Cause(what, count, mask.numel()) if count else None


def _root(node: Any, _: bool) -> Cause | None:
    result = saved(node, "result")
    if result is None:
        return None
    return _first("negative", torch.isnan(result)) or _first("zero", result == 0)


def _inverse(node: Any, _: bool) -> Cause | None:
    result = saved(node, "result")
    if result is None:
        return None
    return _first("zero", torch.isinf(result)) or _first("negative", torch.isnan(result))


def _quotient(node: Any, _: bool) -> Cause | None:
    other = saved(node, "other")
    return None if other is None else _first("zero", other == 0)


def _logarithm(node: Any, _: bool) -> Cause | None:
    value = saved(node, "self")
    if value is None:
        return None
    if node.name().startswith("Log1p"):
        value = value + 1
    return _first("zero", value == 0) or _first("negative", value < 0)


def _exponential(node: Any, _: bool) -> Cause | None:
    result = saved(node, "result")
    return None if result is None else _first("overflow", torch.isinf(result))


def _power(node: Any, forward: bool) -> Cause | None:
    base, exponent = saved(node, "self"), getattr(node, "_saved_exponent", None)
    if base is None or isinstance(exponent, Tensor | complex) or exponent is None:
        return None
    whole = float(exponent).is_integer()
    if exponent < (0 if forward else 1):
        found = _first("zero", base == 0)
        if found is not None:
            return found
    return None if whole else _first("negative", base < 0)


def _inverse_sine(node: Any, forward: bool) -> Cause | None:
    value = saved(node, "self")
    if value is None:
        return None
    size = value.abs()
    return _first("edge", (size > 1) if forward else (size >= 1))


def _angle(node: Any, _: bool) -> Cause | None:
    one, other = saved(node, "self"), saved(node, "other")
    if one is None or other is None:
        return None
    return _first("zero", (one == 0) & (other == 0))


def _softmax(node: Any, _: bool) -> Cause | None:
    result = saved(node, "result")
    return None if result is None else _first("empty", torch.isnan(result))


def _spread(node: Any, _: bool) -> Cause | None:
    result = saved(node, "result")
    return None if result is None else _first("single", torch.isnan(result))


def _product(node: Any, _: bool) -> Cause | None:
    for slot in ("self", "other"):
        value = saved(node, slot)
        if value is not None and value.is_floating_point():
            found = _first("factor", ~torch.isfinite(value))
            if found is not None:
                return found
    return None


_LOOKS: tuple[tuple[tuple[str, ...], Any, bool], ...] = (
    (("SqrtBackward",), _root, False),
    (("RsqrtBackward", "ReciprocalBackward"), _inverse, True),
    (("DivBackward",), _quotient, True),
    (("LogBackward", "Log2Backward", "Log10Backward", "Log1pBackward"), _logarithm, True),
    (("ExpBackward", "Exp2Backward", "Expm1Backward"), _exponential, True),
    (("PowBackward0",), _power, True),
    (("AcosBackward", "AsinBackward"), _inverse_sine, True),
    (("Atan2Backward",), _angle, False),
    (("StdBackward",), _spread, True),
    (("SoftmaxBackward", "LogSoftmaxBackward"), _softmax, True),
    (("MulBackward", "MmBackward", "BmmBackward", "DotBackward"), _product, False),
)
"""Names of nodes, what to look at, and whether what is found spoils the result, too."""


_DELICATE = tuple(name for names, *_ in _LOOKS[:8] for name in names)
_SMALL = 1e-3


def cause_of(node: Any) -> Cause:
    """Return what makes a node's gradient infinite or not a number."""
    name = node.name()
    for names, look, _ in _LOOKS:
        if name.startswith(names):
            return look(node, False) or Cause()
    return Cause()


def origin(nodes: list[Any]) -> tuple[int, Cause] | None:
    """Return the node whose result was the first that is not a finite number.

    None where that cannot be told, or where it came in with the data.
    """
    made = [i for i, node in enumerate(nodes) if type(node) is not ACCUMULATE_GRAD]
    if has_unsound_leaf(nodes):
        # What is computed from it is no number, whatever it is.
        return None
    for index in sorted(made, key=lambda i: int(nodes[i]._sequence_nr())):
        node = nodes[index]
        found = _spoils(node)
        if found is not None:
            return index, found
        if _saved_unsound(node):
            return None
        found = _overflow(node)
        if found is not None:
            return index, found
    return None


def has_unsound_leaf(nodes: list[Any]) -> bool:
    """Tell whether a leaf behind some nodes holds what is not finite."""
    leaves = [node.variable for node in nodes if type(node) is ACCUMULATE_GRAD]
    return any(leaf is not None and is_unsound(leaf) for leaf in leaves)


def _overflow(node: Any) -> Cause | None:
    """Compute anew what a node made of finite numbers, to see whether it was too large.

    In half precision that is what a GradScaler is for.
    """
    name, pairs = node.name(), [saved(node, slot) for slot in ("self", "other")]
    value, other = pairs
    result: Tensor | None = None
    if name.startswith("PowBackward0") and value is not None:
        exponent = getattr(node, "_saved_exponent", None)
        result = value.pow(exponent) if isinstance(exponent, int | float) else None
    elif name.startswith("MulBackward") and value is not None and other is not None:
        result = value * other
    elif name.startswith("MseLossBackward"):
        target = saved(node, "target")
        if value is not None and target is not None:
            result = (value - target) ** 2
    elif name.startswith(("MmBackward", "AddmmBackward")):
        one, other = (saved(node, slot) for slot in _FACTORS[name.startswith("Addmm")])
        result = one @ other if one is not None and other is not None else None
    if result is None or result.dtype is torch.float16:
        return None
    return _first("overflow", ~torch.isfinite(result))


_FACTORS = (("self", "mat2"), ("mat1", "mat2"))


def _saved_unsound(node: Any) -> bool:
    """Tell whether a node saved what is not finite."""
    for name in dir(type(node)):
        if name.startswith("_saved_"):
            value = saved(node, name.removeprefix("_saved_"))
            if value is not None and is_unsound(value):
                return True
    return False


def _spoils(node: Any) -> Cause | None:
    name = node.name()
    for names, look, spoils in _LOOKS:
        if name.startswith(names):
            found: Cause | None = look(node, True)
            # The root of zero is zero.
            return found if found is not None and (spoils or found.what == "negative") else None
    return None


def is_relu_like(node: Any) -> bool:
    """Tell whether a clamp does what relu does, or keeps a value away from 0.

    Nothing is wrong with its zeros.
    """
    if hasattr(node, "_raw_saved_min") or getattr(node, "_saved_max", None) is not None:
        return False
    least = getattr(node, "_saved_min", None)
    return isinstance(least, int | float) and 0 <= least <= _SMALL


def may_break(node: Any) -> bool:
    """Tell whether a node is of a function that is not defined, or not smooth, everywhere."""
    return bool(node.name().startswith(_DELICATE))


def is_delicate(node: Any, position: int) -> bool:
    """Tell whether a node is of a function whose argument of that number must be kept safe."""
    name = node.name()
    if name.startswith("DivBackward"):
        return position == 1
    if name.startswith("PowBackward0"):
        exponent = getattr(node, "_saved_exponent", None)
        return isinstance(exponent, int | float) and exponent < 1
    return bool(name.startswith(_DELICATE))

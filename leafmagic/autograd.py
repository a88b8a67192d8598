"""Reading tensors and autograd nodes.

Every function here returns plain values and lets go of what it was given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

KNOWN_TYPES = frozenset({Tensor, torch.nn.Parameter})
"""Types that are read without a detour; subclasses may answer in ways of their own."""

_CUSTOM_BACKWARD = torch.autograd.function.BackwardCFunction.apply.__code__
_PREVIEWED = 12
_MOST_SEARCHED = 4_000


def grad_fn_of(tensor: Tensor) -> Any:
    """Return ``grad_fn``; None where there is none, or where torch refuses to say.

    It refuses for a view whose base was changed in a forbidden way.
    """
    try:
        return tensor.grad_fn
    except Exception:
        # A subclass may raise anything.
        return None


def is_leaf(tensor: Tensor) -> bool:
    """Return ``is_leaf``; False where torch refuses to say."""
    try:
        return tensor.is_leaf
    except RuntimeError:
        return False


def version_of(tensor: Tensor) -> int:
    """Return the version counter; 0 where there is none."""
    # An inference tensor does not track its version.
    return 0 if tensor.is_inference() else tensor._version


def hook_count(tensor: Tensor) -> int:
    """Return how many tensor hooks are registered."""
    hooks = getattr(tensor, "_backward_hooks", None)
    return len(hooks) if hooks else 0


def flatten(args: Iterable[Any], into: list[Tensor]) -> list[Tensor]:
    """Append the tensors among `args` to `into`; look into lists and tuples once."""
    for arg in args:
        if isinstance(arg, Tensor):
            into.append(arg)
        elif isinstance(arg, list | tuple):
            for item in arg:
                if isinstance(item, Tensor):
                    into.append(item)
                elif isinstance(item, tuple | list):
                    into.extend(part for part in item if isinstance(part, Tensor))
    return into


def raised_in(error: BaseException) -> Any:
    """Return the node of a custom function whose backward raised; None for other errors."""
    step, found = error.__traceback__, None
    while step is not None:
        if step.tb_frame.f_code is _CUSTOM_BACKWARD:
            found = step.tb_frame.f_locals.get("self")
        step = step.tb_next
    return found


def can_be_read(tensor: Tensor) -> bool:
    """Tell whether reading ``.grad`` is meaningful, so that torch does not warn."""
    try:
        return tensor.is_leaf or tensor.retains_grad
    except RuntimeError:
        # A view that torch forbids to look at.
        return False


def grad_norms(tensors: list[Tensor]) -> list[float | None]:
    """Measure the L2 norm of each ``.grad``; one transfer per device.

    Parameters
    ----------
    tensors : list of Tensor
        Each may be read (see `can_be_read`).

    Returns
    -------
    list of float or None
        None where there is no dense gradient.
    """
    norms: list[float | None] = [None] * len(tensors)
    by_device: dict[torch.device, list[tuple[int, Tensor]]] = {}
    for index, tensor in enumerate(tensors):
        grad = tensor.grad
        if grad is None or type(grad) not in KNOWN_TYPES:
            continue
        if grad.device.type == "meta" or grad.numel() == 0:
            continue
        values = grad.coalesce().values() if grad.layout == torch.sparse_coo else grad
        if not (values.is_floating_point() or values.is_complex()):
            continue
        norm = torch.linalg.vector_norm(values.detach()).to(torch.float64)
        by_device.setdefault(grad.device, []).append((index, norm))
    for measured in by_device.values():
        found = torch.stack([norm for _, norm in measured]).tolist()
        for (index, _), value in zip(measured, found, strict=True):
            norms[index] = value
    return norms


def preview(tensor: Tensor) -> str:
    """Return the values of a small CPU tensor, such as ``"[0.5, 1, 2]"``; else ``""``."""
    if type(tensor) not in KNOWN_TYPES or tensor.layout != torch.strided:
        return ""
    if tensor.device.type != "cpu":
        return ""
    if not 0 < tensor.numel() <= _PREVIEWED:
        return ""
    return _render_values(tensor.detach().tolist())


def _render_values(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_render_values(item) for item in value) + "]"
    if isinstance(value, float):
        if math.isfinite(value) and value == int(value) and abs(value) < 1e9:
            return str(int(value))
        return f"{value:.4g}"
    return str(value)


def corrupted_saves(
    number_of: Callable[[Any], int], roots: Iterable[Tensor]
) -> list[tuple[int, str, str]]:
    """Find the nodes behind `roots` whose saved tensors were changed in place.

    Returns
    -------
    list of (nid, slot, message)
        The node's number, the name of the slot without ``_saved_``, and torch's words.

    Notes
    -----
    A slot with an unpack hook is left alone: reading it would run the user's code.
    """
    found: list[tuple[int, str, str]] = []
    seen: set[int] = set()
    stack = [root.grad_fn for root in roots if root.grad_fn is not None]
    while stack and len(seen) < _MOST_SEARCHED:
        node = stack.pop()
        nid = number_of(node) or -id(node)
        if nid in seen:
            continue
        seen.add(nid)
        stack.extend(child for child, _ in node.next_functions if child is not None)
        for name in dir(type(node)):
            if not name.startswith("_saved_"):
                continue
            raw = getattr(node, "_raw" + name, None)
            if raw is None or getattr(raw, "unpack_hook", None) is not None:
                continue
            try:
                getattr(node, name)
            except RuntimeError as error:
                if "modified by an inplace operation" in str(error):
                    found.append((nid, name.removeprefix("_saved_"), str(error)))
    return found

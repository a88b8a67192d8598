"""Counting elements of tensors on whatever device they are, without waiting for it."""

from __future__ import annotations

import cmath
import sys
from typing import Any

import torch
from torch import Tensor

from leafmagic.autograd import KNOWN_TYPES

Key = tuple[str, int]


class Counts:
    """Numbers by key. Those of other devices are fetched at the end, in one transfer each."""

    def __init__(self) -> None:
        self._known: dict[Key, int] = {}
        self._waiting: dict[torch.device, list[tuple[Key, Tensor]]] = {}

    def add(self, what: str, index: int, mask: Tensor) -> None:
        """Add the number of true elements to what is counted under a key."""
        key, value = (what, index), mask.sum()
        self._known.setdefault(key, 0)
        if value.device.type == "cpu":
            self._known[key] += int(value)
        else:
            self._waiting.setdefault(value.device, []).append((key, value))

    def add_unsound(self, what: str, index: int, tensor: Tensor) -> None:
        """Add the number of elements that are infinite or no numbers."""
        if tensor.device.type == "cpu" and cmath.isfinite(tensor.sum().item()):
            # One reduction instead of three passes: a finite sum has finite terms.
            self._known.setdefault((what, index), 0)
            return
        self.add(what, index, ~torch.isfinite(tensor))

    def fetch(self) -> None:
        """Bring here what was counted elsewhere."""
        for device, waiting in self._waiting.items():
            torch.accelerator.synchronize(device)
            numbers = torch.stack([value for _, value in waiting]).tolist()
            for (key, _), number in zip(waiting, numbers, strict=True):
                self._known[key] += int(number)
        self._waiting.clear()

    def of(self, what: str) -> dict[int, int]:
        """Return all that was counted of one sort, by index."""
        return {index: count for (sort, index), count in self._known.items() if sort == what}

    def get(self, what: str, index: int) -> int:
        """Return a number; -1 where nothing was counted."""
        return self._known.get((what, index), -1)


def readable(tensors: Any) -> list[Tensor]:
    """Return what can be looked at without a detour."""
    return [
        tensor
        for tensor in tensors
        if isinstance(tensor, Tensor)
        and type(tensor) in KNOWN_TYPES
        and tensor.layout == torch.strided
        and tensor.device.type != "meta"
        and (tensor.is_floating_point() or tensor.is_complex())
    ]


def is_unsound(tensor: Tensor) -> bool:
    """Tell whether a tensor holds what is no number, where that is cheap to tell."""
    if tensor.device.type != "cpu" or not readable((tensor,)):
        return False
    return not bool(torch.isfinite(tensor.detach()).all())


def is_calm() -> bool:
    """Tell whether hooks would be seen by nobody but us, and could be read."""
    if torch._C._len_torch_dispatch_stack() or torch._C._autograd._profiler_enabled():
        return False
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return False
    compiled = sys.modules.get("torch._dynamo.compiled_autograd")
    if compiled is not None and getattr(compiled, "compiled_autograd_enabled", False):
        return False
    started: Any = torch.cuda.is_initialized
    return not (started() and torch.cuda.is_current_stream_capturing())

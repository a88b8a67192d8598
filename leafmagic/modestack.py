"""torch's stack of function modes: where a mode lies on it, and how it gets there."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import overrides
from torch.overrides import TorchFunctionMode

push: Callable[[TorchFunctionMode], None] = overrides._push_mode
depth: Callable[[], int] = torch._C._len_torch_function_stack
_pop: Callable[[], TorchFunctionMode] = overrides._pop_mode
_modes: Callable[[], list[TorchFunctionMode]] = overrides._get_current_function_mode_stack


def remove(mode: TorchFunctionMode) -> None:
    """Take a mode off the stack, wherever it lies; others stay in their order."""
    if not any(known is mode for known in _modes()):
        return
    above = []
    while (top := _pop()) is not mode:
        above.append(top)
    for known in reversed(above):
        push(known)


def take_off(mode: TorchFunctionMode) -> int | None:
    """Take a mode off the top of the stack.

    Returns
    -------
    int or None
        How many lie below; None if another is on top.
    """
    if not depth():
        return None
    top = _pop()
    if top is mode:
        return depth()
    push(top)
    return None


def insert(mode: TorchFunctionMode, below: int) -> None:
    """Put a mode on the stack so that so many lie below it, as far as there are so many."""
    above = [_pop() for _ in range(depth() - below)]
    for known in [mode, *reversed(above)]:
        push(known)

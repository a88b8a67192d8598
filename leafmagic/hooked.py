"""Hooks: which are alike, and modules whose hooks see an input that was written to."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor

from leafmagic.cell import is_user_file
from leafmagic.looks import ModuleHooked
from leafmagic.owners import call_text, root_module
from leafmagic.sites import Sites

_MOST_HOOKS = 64


def alike_hooks(tensor: Tensor) -> int:
    """Count the newest hooks of a tensor that have the code of the newest one.

    Hooks that capture something, or have defaults, are alike where these are the same
    objects: the code alone does not tell what they do.
    """
    hooks = getattr(tensor, "_backward_hooks", None)
    if not hooks:
        return 0
    newest = list(itertools.islice(reversed(hooks.values()), _MOST_HOOKS))
    return sum(_is_alike(hook, newest[0]) for hook in newest)


def _is_alike(hook: Any, other: Any) -> bool:
    if hook is other:
        return True
    code = code_of(hook)
    if code is None or code != code_of(other):
        return False
    one, two = _captured(hook), _captured(other)
    return len(one) == len(two) and all(map(operator.is_, one, two))


def _captured(hook: Any) -> list[Any]:
    """Return what a hook brings along: its object, its arguments, its variables."""
    found: list[Any] = []
    if isinstance(hook, functools.partial):
        found += [functools.partial, *hook.args, *hook.keywords.values()]
        hook = hook.func
    plain = getattr(hook, "__func__", hook)
    if plain is not hook:
        found.append(hook.__self__)
    return [*found, *(plain.__defaults__ or ()), *(plain.__closure__ or ())]


def code_of(hook: Any) -> CodeType | None:
    """Return the code of a hook; None where it is not plain Python."""
    if isinstance(hook, functools.partial):
        hook = hook.func
    hook = getattr(hook, "__func__", hook)
    code = getattr(hook, "__code__", None)
    return code if isinstance(code, CodeType) else None


def overwriting(
    sites: Sites,
    frame: FrameType | None,
    site: int,
    tensor: Tensor,
    ordinal: Callable[[], int],
) -> ModuleHooked | None:
    """Describe the module that is running, if it has forward hooks and wrote to its input.

    Parameters
    ----------
    frame : FrameType
        Where it wrote.
    tensor : Tensor
        What was written to.
    """
    call = torch.nn.Module._call_impl.__code__
    above = frame
    while above is not None and above.f_code is not call:
        above = above.f_back
    if above is None:
        return None
    module, given = above.f_locals.get("self"), above.f_locals.get("args", ())
    if not isinstance(module, torch.nn.Module) or not any(t is tensor for t in given):
        return None
    hooks = [found for found in map(_described, module._forward_hooks.values()) if found]
    if not hooks:
        return None
    root, text = root_module(frame), call_text(sites, frame)
    path = text if root is module else _path_in(root, module, text)
    return ModuleHooked(ordinal(), site, path, type(module).__name__, tuple(hooks))


def _described(hook: Any) -> tuple[str, int, str] | None:
    """Return where the code of a forward hook is, and what it calls the input."""
    code = code_of(hook)
    if code is None or not is_user_file(code.co_filename):
        return None
    which = 1 + hasattr(hook, "__self__")
    if isinstance(hook, functools.partial) or code.co_argcount <= which:
        return None
    return code.co_filename, code.co_firstlineno, code.co_varnames[which]


def _path_in(root: torch.nn.Module | None, module: torch.nn.Module, text: str) -> str:
    if root is None or not text:
        return ""
    return next((f"{text}.{name}" for name, one in root.named_modules() if one is module), "")

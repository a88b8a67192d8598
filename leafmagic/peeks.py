"""Looking at objects of the user's without running a line of the user's code.

A lazy proxy may answer anything when it is asked for its ``__class__``, a module may lack
what ``super().__init__()`` makes, a key's ``__repr__`` may raise. What is looked at here is
looked at from outside, and what cannot be is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any, TypeVar

import torch
from torch import Tensor

_T = TypeVar("_T")
_SPELT = (str, int, float, bool, bytes, type(None))
_MOST_WORDS = 8


def is_a(value: Any, kind: Any) -> bool:
    """Tell whether a value is of a kind; ``isinstance`` would ask it for its ``__class__``."""
    return issubclass(type(value), kind)


def safely(found: Iterable[_T]) -> Iterator[_T]:
    """Yield what is found until looking fails: one odd object must not hide the others."""
    looking = iter(found)
    while True:
        try:
            item = next(looking)
        except Exception:  # Also StopIteration
            return
        yield item


def inside(value: Any) -> dict[str, Any]:
    """Return the attributes of an object itself; empty where it has no plain dict of them."""
    try:
        held = object.__getattribute__(value, "__dict__")
    except Exception:
        return {}
    return held if type(held) is dict else {}


def method_of(kind: type, name: str) -> CodeType | None:
    """Return the code of a function that a class itself defines."""
    own: Any = type.__dict__["__dict__"].__get__(kind)
    function = own.get(name)
    return function.__code__ if type(function) is FunctionType else None


def spelt(key: Any) -> str | None:
    """Return how a key is written in code; None where its own ``__repr__`` would say that."""
    if type(key) is tuple and len(key) <= _MOST_WORDS:
        if all(type(part) in _SPELT for part in key):
            return repr(key)
        return None
    return repr(key) if type(key) in _SPELT else None


def parts_of(module: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """Like ``named_modules()``, which a class may overwrite: each part once, with its path."""
    seen: set[int] = set()
    stack = [("", module)]
    while stack:
        path, part = stack.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield path, part
        head = f"{path}." if path else ""
        children = [
            (f"{head}{name}", child)
            for name, child in _table(part, "_modules")
            if is_a(child, torch.nn.Module)
        ]
        stack += reversed(children)


def registered_in(module: torch.nn.Module, table: str) -> Iterator[tuple[str, Tensor]]:
    """Like ``named_parameters()`` or ``named_buffers()``: each tensor once, with its path.

    Parameters
    ----------
    table : {"_parameters", "_buffers"}
    """
    seen: set[int] = set()
    for path, part in parts_of(module):
        head = f"{path}." if path else ""
        for name, tensor in _table(part, table):
            if is_a(tensor, Tensor) and id(tensor) not in seen:
                seen.add(id(tensor))
                yield f"{head}{name}", tensor


def _table(module: torch.nn.Module, name: str) -> list[tuple[str, Any]]:
    """Return what a module has registered; nothing where it has not been made yet."""
    table = inside(module).get(name)
    try:
        if table is None and is_a(module, torch.jit.ScriptModule):
            table = getattr(module, name)
        return [] if table is None else list(table.items())
    except Exception:
        return []


def given_to(optimizer: Any) -> list[Tensor]:
    """Return the parameters that an optimizer has; none where it is not made yet."""
    found: list[Tensor] = []
    groups = inside(optimizer).get("param_groups")
    for group in groups if type(groups) is list else []:
        given = group.get("params") if type(group) is dict else None
        if type(given) in (list, tuple):
            found += [tensor for tensor in given or () if is_a(tensor, Tensor)]
    return found

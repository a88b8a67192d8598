"""What still holds computed tensors when a trace ends: containers, outputs, a traceback."""

from __future__ import annotations

import ast
import gc
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any

from torch import Tensor

from leafmagic.autograd import grad_fn_of
from leafmagic.cell import CellSource, is_user_file
from leafmagic.ledger import tid_of
from leafmagic.looks import Kept
from leafmagic.owners import is_users_name
from leafmagic.peeks import inside, is_a, spelt

FEWEST = 3
"""So many tensors in one place are worth a look."""

_MOST = 2_000
_SHOWN = 64


def kept_events(
    namespace: Mapping[str, Any],
    ordinal: Callable[[], int],
    cell: CellSource | None,
    *,
    failed: bool,
) -> Iterator[Kept]:
    """Yield what holds several tensors with a graph, or one that nobody sees.

    Parameters
    ----------
    failed : bool
        Whether the trace ended with an error: then its traceback has just been made.
    """
    yield from held_events(namespace, ordinal, running=False)
    if cell is not None:
        yield from _outputs(namespace, ordinal, cell)
    if not failed:
        yield from _in_traceback(ordinal)


def held_events(
    namespace: Mapping[str, Any], ordinal: Callable[[], int], *, running: bool
) -> Iterator[Kept]:
    """Yield the containers that hold several tensors with a graph."""
    for path, tensors in _containers(namespace):
        tids = tuple([tid_of(tensor) for tensor in tensors[-_SHOWN:]])
        yield Kept(ordinal(), "container", path, tids, len(tensors), None, running)


def _computed(values: Any) -> list[Tensor]:
    """Return the tensors with a graph among values, each once; of pairs and such, inside."""
    found: dict[int, Tensor] = {}
    for value in values:
        for item in value if type(value) in (tuple, list) and len(value) < FEWEST + 2 else (value,):
            if is_a(item, Tensor) and _has_graph(item):
                found[id(item)] = item
    return list(found.values())


def _has_graph(tensor: Tensor) -> bool:
    try:
        return grad_fn_of(tensor) is not None
    except Exception:
        return False


def _containers(namespace: Mapping[str, Any]) -> Iterator[tuple[str, list[Tensor]]]:
    """Yield the lists and dicts, of variables and of the user's own objects, that hold some."""
    for name, value in list(namespace.items()):
        if not is_users_name(name):
            continue
        for path, held in _parts(name, value):
            tensors = _computed(_items(held))
            if len(tensors) >= FEWEST:
                yield path, tensors


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    yield name, value
    if type(value) is dict:
        for key, part in list(value.items())[:_SHOWN]:
            word = spelt(key)
            if word is not None:
                yield f"{name}[{word}]", part
    elif _is_users_class(type(value)):
        for key, part in list(inside(value).items())[:_SHOWN]:
            if not key.startswith("_"):
                yield f"{name}.{key}", part


def _is_users_class(kind: type) -> bool:
    own: Any = type.__dict__["__dict__"].__get__(kind)
    return own.get("__module__") == "__main__" and not issubclass(kind, type)


def _items(held: Any) -> list[Any]:
    if type(held) is list or (type(held) is deque and held.maxlen is None):
        return list(held)[-_MOST:]
    return list(held.values())[-_MOST:] if type(held) is dict else []


def _outputs(
    namespace: Mapping[str, Any], ordinal: Callable[[], int], cell: CellSource
) -> Iterator[Kept]:
    """Look at ``Out``, if this cell has added a tensor to it that others are like."""
    out, inputs = namespace.get("Out"), namespace.get("In")
    if type(out) is not dict or inputs is None or not is_a(inputs, list):
        return
    shown = _last_expression(cell.text)
    newest = max((n for n in out if type(n) is int), default=0)
    if shown is None or cell.label != f"Cell In[{newest}]":
        return
    text, line = shown
    alike = [
        value
        for number, value in list(out.items())
        if type(number) is int
        and 0 < number < len(inputs)
        and is_a(value, Tensor)
        and (_last_expression(str(inputs[number])) or ("", 0))[0] == text
    ]
    tensors = _computed(alike)
    if len(tensors) >= FEWEST and tensors[-1] is out[newest]:
        tids = tuple([tid_of(tensor) for tensor in tensors[-_SHOWN:]])
        yield Kept(ordinal(), "output", text, tids, len(tensors), line)


def _last_expression(text: str) -> tuple[str, int] | None:
    """Return the expression that a cell shows, and its line."""
    lines = ["" if line.lstrip().startswith(("%", "!")) else line for line in text.split("\n")]
    try:
        body = ast.parse("\n".join(lines)).body
    except (SyntaxError, ValueError):
        return None
    if not body or not isinstance(body[-1], ast.Expr):
        return None
    return ast.unparse(body[-1].value), body[-1].lineno


def _in_traceback(ordinal: Callable[[], int]) -> Iterator[Kept]:
    """Look at the functions whose frames the last error keeps.

    Asking a frame for its locals would keep them once more, so it is asked what it refers
    to, which has no names.
    """
    step: TracebackType | None = getattr(sys, "last_traceback", None)
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_name != "<module>" and is_user_file(code.co_filename):
            tensors = _computed(gc.get_referents(step.tb_frame))
            tids = tuple([tid for tid in map(tid_of, tensors) if tid >= 0])
            if tids:
                size = sum(tensor.numel() * tensor.element_size() for tensor in tensors)
                yield Kept(ordinal(), "traceback", code.co_name, tids, size, None)
        step = step.tb_next

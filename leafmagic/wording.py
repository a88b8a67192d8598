"""The text of what was traced, and which of its names stand for something of torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from leafmagic.cell import CellSource, is_user_file
from leafmagic.looks import SourceRead
from leafmagic.peeks import is_a, method_of
from leafmagic.sites import Sites

_WORD = re.compile(r"[^\W\d]\w*")
_PLAIN = (ModuleType, FunctionType, BuiltinFunctionType, type)


def source_read(
    ordinal: Callable[[], int],
    cell: CellSource,
    sites: Sites,
    namespace: Mapping[str, Any],
    entered: int = 0,
) -> list[SourceRead]:
    """Describe the text of a trace, and texts that its custom functions come from.

    Parameters
    ----------
    namespace : mapping
        Where the names of the text are looked up.
    entered : int
        Line of the ``with`` statement that began the trace; 0 for a whole cell.

    Returns
    -------
    list of SourceRead
        First that of the trace.
    """
    filename = cell.filename or ""
    text = sites.text(filename) or cell.text
    lines = _block_at(text, entered) if entered else (1, text.count("\n") + 1)
    found = [
        SourceRead(
            ordinal(), cell.label, filename, text, _names(text, namespace), *(lines or (1, 0))
        )
    ]
    for other in sorted(_homes_of_functions(namespace) - {filename}):
        text, label = sites.text(other), sites.label(other)
        found += [SourceRead(ordinal(), label, other, text, _names(text, namespace), 1, 0)]
    return found


def _names(text: str, namespace: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the words of a text that stand for something of torch, and its path."""
    words = sorted(set(_WORD.findall(text)).intersection(namespace))
    known = ((word, _path_in_torch(namespace[word])) for word in words)
    return tuple([(word, path) for word, path in known if path])


def _homes_of_functions(namespace: Mapping[str, Any]) -> set[str]:
    """Return the files of the user's that define custom functions of a namespace."""
    found: set[str] = set()
    for value in list(namespace.values()):
        if type(value).__name__ == "FunctionMeta" and _path_in_torch(type(value)):
            backward = vars(value).get("backward")
            code = method_of(value, "backward")
            if type(backward) in (staticmethod, classmethod):
                code = getattr(backward.__func__, "__code__", None)
            if type(code) is CodeType and is_user_file(code.co_filename):
                found.add(code.co_filename)
    return found


def _path_in_torch(value: Any) -> str:
    """Return ``"torch.autograd.grad"`` for that function; empty for what is not torch's."""
    if not is_a(value, _PLAIN):
        return ""
    try:
        if is_a(value, ModuleType):
            path = vars(value).get("__name__")
        else:
            path = f"{value.__module__}.{value.__qualname__}"
    except Exception:
        return ""  # A class whose metaclass answers for it.
    return path if isinstance(path, str) and path.partition(".")[0] == "torch" else ""


@lru_cache(maxsize=64)
def _block_at(text: str, line: int) -> tuple[int, int] | None:
    """Return the first and the last line of the innermost ``with`` block begun at a line."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    blocks = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.With | ast.AsyncWith)
        and node.lineno <= line <= max(node.lineno, node.body[0].lineno)
    ]
    if not blocks:
        return None
    block = max(blocks, key=lambda node: node.lineno)
    return block.body[0].lineno, block.end_lineno or block.lineno

"""The text of what was traced, and which of its names stand for something of torch."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from leafmagic.cell import CellSource
from leafmagic.events import SourceRead

_WORD = re.compile(r"[^\W\d]\w*")
_PLAIN = (ModuleType, FunctionType, BuiltinFunctionType, type)


def source_read(
    ordinal: int, cell: CellSource, text: str, namespace: Mapping[str, Any], entered: int = 0
) -> list[SourceRead]:
    """Describe the text of a trace.

    Parameters
    ----------
    text : str
        What was compiled.
    namespace : mapping
        Where the names of the text are looked up.
    entered : int
        Line of the ``with`` statement that began the trace; 0 for a whole cell.

    Returns
    -------
    list of SourceRead
        One; none where the traced lines are not known.
    """
    lines = _block_at(text, entered) if entered else (1, text.count("\n") + 1)
    if lines is None:
        return []
    words = sorted(set(_WORD.findall(text)).intersection(namespace))
    known = ((word, _path_in_torch(namespace[word])) for word in words)
    names = tuple((word, path) for word, path in known if path)
    return [SourceRead(ordinal, cell.label, cell.filename or "", text, names, *lines)]


def _path_in_torch(value: Any) -> str:
    """Return ``"torch.autograd.grad"`` for that function; empty for what is not torch's."""
    # Not isinstance: it asks objects for their __class__, and they may answer anything.
    if not issubclass(type(value), _PLAIN):
        return ""
    if issubclass(type(value), ModuleType):
        path = vars(value).get("__name__")
    else:
        path = f"{value.__module__}.{value.__qualname__}"
    return path if isinstance(path, str) and path.partition(".")[0] == "torch" else ""


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

"""From a place in running code to the words of the cell.

A place is a code object and an instruction offset. It becomes a `Place`: the
line and columns that the notebook shows, the expression as written, the
variables that the statement binds and the operands by their source text.
"""

from __future__ import annotations

import ast
import linecache
import os
import sysconfig
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import Any

from executing import Source

from leafmagic.statements import line_magic, lines_of, segment

_OWN = str(Path(__file__).parent) + os.sep
_INSTALLED = tuple(
    {
        str(Path(path)) + os.sep
        for key in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_paths().get(key))
    }
)
_LONGEST_SOURCE = 200


@dataclass(frozen=True, slots=True)
class CellSource:
    """The text of a traced cell.

    Attributes
    ----------
    label : str
        What the reader knows it as, such as ``"Cell In[3]"``.
    text : str
        The whole text; line 1 is the first line that the notebook shows.
    filename : str or None
        The ``co_filename`` of its code, where known.
    id : str or None
        What the front end knows it by, empty where it does not say; None for no cell.
    """

    label: str
    text: str
    filename: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """One expression of the user's code.

    Attributes
    ----------
    filename, label : str
        ``co_filename``, and what to call it.
    function : str
        Qualified name of the function around it, ``"<module>"`` at the top.
    line, end_line : int
        1-based.
    column, end_column : int or None
        0-based, in characters.
    source : str
        The expression, as written.
    statement : str
        The first line of the statement around it, stripped.
    text : str
        The line at `line`, with its indent.
    kind : str
        The ast class of the expression, such as ``"Call"``; empty where unknown.
    targets : tuple of str
        What the statement binds to the value of this very expression: one name,
        or one per element where the value is unpacked.
    unpacked : bool
        Whether `targets` names the elements of the value.
    operands : tuple of str
        Source text of the receiver and the arguments, in call order.
    attribute : str
        The attribute read, written or called: ``"grad"`` for ``x.grad``.
    owner : str
        Source text of what that attribute belongs to: ``"x"`` for ``x.grad``.
    compared_with_none : bool
        Whether the value is only tested, as in ``x.grad is not None``.
    returned : bool
        Whether the value is what the function returns.
    """

    filename: str
    label: str
    function: str
    line: int
    end_line: int
    column: int | None = None
    end_column: int | None = None
    source: str = ""
    statement: str = ""
    text: str = ""
    kind: str = ""
    targets: tuple[str, ...] = ()
    unpacked: bool = False
    operands: tuple[str, ...] = ()
    attribute: str = ""
    owner: str = ""
    compared_with_none: bool = False
    returned: bool = False

    @property
    def scope(self) -> str:
        """Where its names are looked up: empty for the cell's own, else the function."""
        return "" if self.function == "<module>" else self.function


def is_user_file(filename: str) -> bool:
    """Tell whether a file is the user's own: a cell, a script, a module not installed."""
    if filename.startswith(_OWN):
        return False
    if filename.startswith("<"):
        # Cells of older IPython are named <ipython-input-...>; the rest is generated
        # code: dataclass methods, torch's own templates, frozen modules.
        return filename.startswith(("<ipython-input", "<cell", "<string", "<stdin"))
    return not filename.startswith(_INSTALLED)


def is_module_word(word: str) -> bool:
    """Tell whether an operand is a module that a function was called from (``F.relu``)."""
    first, _, rest = word.partition(".")
    return first in ("torch", "F", "nn", "np", "functional") and (
        not rest or rest.replace(".", "").isidentifier()
    )


def source_of(filename: str) -> str:
    """Return the text of a cell or file; empty where it cannot be had."""
    return "".join(linecache.getlines(filename))


def default_label(filename: str) -> str:
    """Name a file for the reader: its last part."""
    return Path(filename).name


def locate(code: CodeType, lasti: int, label: Callable[[str], str] = default_label) -> Place:
    """Turn a code object and an instruction offset into a `Place`.

    Parameters
    ----------
    code : CodeType
    lasti : int
        Offset in bytes, as in ``frame.f_lasti``.
    label : callable
        From a file name to what the reader calls it.

    Notes
    -----
    Where the source cannot be found (a cell typed into a plain prompt) only the
    line is known, and the rest stays empty.
    """
    span = _positions(code, lasti)
    line = span[0] or code.co_firstlineno
    where = (code.co_filename, label(code.co_filename), code.co_qualname)
    node, text = _node_at(code, lasti, line, span)
    if node is None:
        here = _line_of(text, line)
        return Place(*where, line, span[2] or line, statement=here.strip(), text=here)
    magic = line_magic(node)
    if magic is not None:
        return _as_typed(Place(*where, line, span[2] or line), node, text, *magic)
    source = segment(text, node)
    return Place(
        *where,
        line=getattr(node, "lineno", line),
        end_line=getattr(node, "end_lineno", line) if not isinstance(node, ast.stmt) else line,
        column=_column(text, node, "lineno", "col_offset"),
        end_column=_column(text, node, "end_lineno", "end_col_offset"),
        source=source if len(source) <= _LONGEST_SOURCE else source[: _LONGEST_SOURCE - 1] + "…",
        statement=_line_of(text, getattr(_statement(node), "lineno", line)).strip(),
        text=_line_of(text, getattr(node, "lineno", line)),
        kind=type(node).__name__,
        **_relations(node, text),
    )


def _as_typed(place: Place, node: ast.AST, text: str, name: str, code: str) -> Place:
    """Describe what a line magic ran in the words that were typed.

    What is in it has no columns of its own in the cell; where it is one statement, it is
    taken for the expression that ran.
    """
    call, line = segment(text, node), _line_of(text, place.line)
    typed = replace(place, text=line.replace(call, f"%{name} {code}"))
    try:
        body = ast.parse(code).body
    except (SyntaxError, ValueError):
        return typed  # It begins with options of the magic.
    inner: ast.AST | None = body[0] if len(body) == 1 else None
    if isinstance(inner, ast.Assign | ast.AnnAssign | ast.Expr) and inner.value is not None:
        inner.value.parent = inner  # type: ignore[attr-defined]
        inner = inner.value
    elif not isinstance(inner, ast.AugAssign):
        return typed
    relations = _relations(inner, code)
    if not relations["targets"]:
        relations["targets"], relations["unpacked"] = _targets(node, lambda p: segment(text, p))
    return replace(
        typed,
        source=segment(code, inner),
        statement=line.strip().replace(call, code),
        kind=type(inner).__name__,
        **relations,
    )


Span = tuple[int | None, int | None, int | None, int | None]
"""Line, column, last line, last column; columns in UTF-8 bytes, as ast has them."""


def _positions(code: CodeType, lasti: int) -> Span:
    for index, (line, end_line, column, end_column) in enumerate(code.co_positions()):
        if index == lasti // 2:
            return line, column, end_line, end_column
    return None, None, None, None


def _at_span(tree: ast.AST | None, span: Span) -> ast.AST | None:
    """Find an expression by its span, where `executing` does not commit itself."""
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.expr | ast.AugAssign) and span == (
            node.lineno,
            node.col_offset,
            node.end_lineno,
            node.end_col_offset,
        ):
            return node
    return None


def _node_at(code: CodeType, lasti: int, line: int, span: Span) -> tuple[ast.AST | None, str]:
    # executing takes a frame; only these four attributes of it are read.
    frame: Any = SimpleNamespace(f_code=code, f_lasti=lasti, f_lineno=line, f_globals={})
    try:
        found = Source.executing(frame)
    except Exception:
        return None, ""
    text = found.source.text
    node: ast.AST | None = found.node or _at_span(found.source.tree, span)
    if node is None and found.statements and len(found.statements) == 1:
        (statement,) = found.statements
        if isinstance(statement, ast.Assign):
            node = statement.value
    if isinstance(node, ast.For | ast.AsyncFor):
        return node.iter, text
    if isinstance(node, ast.Tuple | ast.List) and isinstance(node.ctx, ast.Store):
        around = _parent(node)  # a tensor is taken apart: what is assigned counts
        node = around.value if isinstance(around, ast.Assign) else node
    return node, text


def _line_of(text: str, line: int) -> str:
    lines = lines_of(text)
    return lines[line - 1] if 0 < line <= len(lines) else ""


def _column(text: str, node: ast.AST, line_key: str, column_key: str) -> int | None:
    """Return a column in characters; ast counts in UTF-8 bytes."""
    line: int | None = getattr(node, line_key, None)
    column: int | None = getattr(node, column_key, None)
    if line is None or column is None:
        return None
    lines = lines_of(text)
    if not 0 < line <= len(lines):
        return column
    return len(lines[line - 1].encode()[:column].decode(errors="ignore"))


def _parent(node: ast.AST) -> ast.AST | None:
    return getattr(node, "parent", None)


def _statement(node: ast.AST) -> ast.AST:
    while not isinstance(node, ast.stmt):
        parent = _parent(node)
        if parent is None:
            return node
        node = parent
    return node


def _relations(node: ast.AST, text: str) -> dict[str, Any]:
    """Return the fields of a `Place` that say how the expression is used."""

    def words(part: ast.AST) -> str:
        return segment(text, part)

    targets, unpacked = _targets(node, words)
    called = node.func if isinstance(node, ast.Call) else node
    attribute, owner = "", ""
    if isinstance(called, ast.Attribute):
        attribute, owner = called.attr, words(called.value)
    parent = _parent(node)
    return {
        "targets": targets,
        "unpacked": unpacked,
        "operands": tuple(words(part) for part in _operands(node)),
        "attribute": attribute,
        "owner": owner,
        "compared_with_none": _is_test(node, parent),
        "returned": isinstance(parent, ast.Return),
    }


def _is_test(node: ast.AST, parent: ast.AST | None) -> bool:
    """Tell whether a value is only looked at: compared with None, or taken for true or false."""
    while isinstance(parent, ast.NamedExpr) or (
        isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    ):
        node, parent = parent, _parent(parent)
    if isinstance(parent, ast.Compare) and len(parent.ops) == 1:
        sides = [parent.left, *parent.comparators]
        return isinstance(parent.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq) and any(
            isinstance(side, ast.Constant) and side.value is None for side in sides
        )
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name):
        return parent.func.id in ("isinstance", "bool", "id", "type")
    if isinstance(parent, ast.BoolOp | ast.Assert):
        return True
    if isinstance(node, ast.UnaryOp):
        return True
    return isinstance(parent, ast.If | ast.While | ast.IfExp) and parent.test is node


def _operands(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Call):
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*receiver, *node.args, *(k.value for k in node.keywords)]
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.AugAssign):
        return [node.target, node.value]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if isinstance(node, ast.Subscript):
        parent = _parent(node)
        value = [parent.value] if isinstance(parent, ast.Assign | ast.AugAssign) else []
        stored = isinstance(node.ctx, ast.Store)
        return [node.value, *(value if stored else [])]
    if isinstance(node, ast.Attribute):
        return [node.value]
    return []


def _targets(node: ast.AST, words: Callable[[ast.AST], str]) -> tuple[tuple[str, ...], bool]:
    if isinstance(node, ast.AugAssign):
        return (words(node.target),), False
    parent = _parent(node)
    if isinstance(parent, ast.NamedExpr):
        return (words(parent.target),), False
    if isinstance(parent, ast.AnnAssign) and parent.value is node:
        return (words(parent.target),), False
    if isinstance(parent, ast.For | ast.comprehension) and parent.iter is node:
        if isinstance(parent.target, ast.Name):
            return (parent.target.id,), True
        return (), False
    if isinstance(parent, ast.Assign) and parent.value is node:
        target = parent.targets[-1]
        if isinstance(target, ast.Tuple | ast.List):
            return tuple(words(part) for part in target.elts), True
        return tuple(words(part) for part in parent.targets[-1:]), False
    if isinstance(parent, ast.Tuple):
        return _pairwise(node, parent, words)
    return (), False


def _pairwise(
    node: ast.AST, values: ast.Tuple, words: Callable[[ast.AST], str]
) -> tuple[tuple[str, ...], bool]:
    """Match ``a, b = f(), g()`` element by element."""
    statement = _parent(values)
    if not isinstance(statement, ast.Assign) or statement.value is not values:
        return (), False
    target = statement.targets[-1]
    if not isinstance(target, ast.Tuple) or len(target.elts) != len(values.elts):
        return (), False
    index = next(i for i, part in enumerate(values.elts) if part is node)
    return (words(target.elts[index]),), False

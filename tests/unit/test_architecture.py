"""The import table: one pipeline, one direction; and no file or function too long."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import leafmagic

ROOT = Path(leafmagic.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

MAY_IMPORT: dict[str, tuple[str, ...]] = {
    # Plain data and pure functions.
    "options": (),
    "errors": (),
    "guard": (),
    "events": (),
    "breaks": (),
    "looks": ("breaks", "events"),
    "functions": (),
    "graph": (),
    "bygone": (),
    "session": ("bygone",),
    "statements": (),
    "edits": (),
    "cell": ("statements",),
    "valuestack": (),
    "progress": ("cell", "statements", "valuestack"),
    # Where torch is watched.
    "sites": ("cell", "statements"),
    "log": ("events", "looks"),
    "autograd": (),
    "marks": (),
    "modestack": (),
    "ledger": ("marks", "autograd", "events", "log"),
    "retaining": ("autograd", "cell", "events", "ledger", "log", "looks", "sites"),
    "peeks": (),
    "owners": ("autograd", "cell", "events", "ledger", "looks", "peeks", "sites"),
    "holders": ("autograd", "cell", "ledger", "looks", "owners", "peeks"),
    "wording": ("cell", "events", "looks", "peeks", "sites"),
    "names": (
        "events",
        "ledger",
        "log",
        "looks",
        "owners",
        "peeks",
        "retaining",
        "sites",
        "statements",
    ),
    "turns": ("log", "marks"),
    "ops": ("autograd", "events", "fingerprints", "functions", "ledger", "marks", "log", "turns"),
    "counting": ("autograd",),
    "causes": ("marks", "autograd", "counting", "ledger"),
    "fingerprints": ("marks", "autograd", "ledger"),
    "behind": ("autograd", "ledger", "marks"),
    "readout": ("breaks", "counting"),
    "drift": ("counting", "readout"),
    "meters": (
        "behind",
        "breaks",
        "counting",
        "drift",
        "ledger",
        "log",
        "marks",
        "options",
        "readout",
        "causes",
        "nodewatch",
    ),
    "nodewatch": ("behind", "marks", "causes", "counting", "ledger"),
    "passes": (
        "autograd",
        "behind",
        "breaks",
        "counting",
        "events",
        "fingerprints",
        "ledger",
        "log",
        "looks",
        "meters",
        "nodewatch",
        "withheld",
    ),
    "withheld": ("behind", "ledger"),
    "updates": ("events", "ledger", "log"),
    "callers": ("sites",),
    "hooked": ("cell", "looks", "owners", "sites"),
    "accesses": (
        "callers",
        "events",
        "fingerprints",
        "functions",
        "hooked",
        "ledger",
        "log",
        "sites",
    ),
    "recorder": (
        "modestack",
        "accesses",
        "autograd",
        "callers",
        "events",
        "functions",
        "ledger",
        "log",
        "looks",
        "ops",
        "passes",
        "sites",
        "updates",
    ),
    "watchdog": ("holders", "log", "looks"),
    "states": ("autograd", "events", "ledger", "looks"),
    "tracebacks": ("accesses", "callers", "cell", "ledger", "looks", "recorder"),
    # From events to a graph and to findings.
    "records": ("events",),
    "naming": ("cell", "events", "looks", "records"),
    "operands": ("records",),
    "folding": ("cell", "events", "naming", "operands", "records"),
    "reach": ("records",),
    "accounts": ("records", "session"),
    "gradients": ("accounts", "breaks", "cell", "events", "folding", "reach", "records"),
    "rounds": ("events", "folding", "records"),
    "laps": ("cell", "records", "statements"),
    "series": (),
    "trends": ("breaks", "folding", "graph", "records", "series"),
    "model": (
        "breaks",
        "cell",
        "events",
        "folding",
        "gradients",
        "laps",
        "looks",
        "records",
        "rounds",
        "session",
        "trends",
    ),
    "snapshots": ("model", "records", "session"),
    "flow": ("model", "reach", "records", "session"),
    "shared": ("model", "reach", "records", "session"),
    "lives": ("bygone", "model", "reach", "records", "session"),
    "failing": ("graph", "looks", "model", "reach", "records"),
    "build": ("cell", "failing", "graph", "laps", "model", "records"),
    "findings": (
        "breaks",
        "bygone",
        "accounts",
        "flow",
        "session",
        "shared",
        "snapshots",
        "reach",
        "cell",
        "events",
        "findings",
        "looks",
        "model",
        "records",
        "statements",
        "edits",
    ),
    # From a graph to a picture.
    "ranking": (),
    "placing": ("ranking",),
    "layout": ("placing", "ranking"),
    "boxes": (),
    "levels": ("boxes", "graph"),
    "render": ("boxes", "edits", "graph", "layout", "levels", "render"),
    # What holds it together.
    "training": ("graph", "looks", "model", "reach", "records", "trends"),
    "histories": ("graph", "model", "records", "training", "trends"),
    "recording": ("edits", "findings", "graph", "histories", "render"),
    "documents": ("build", "findings", "graph", "recording", "training"),
    "carry": (
        "accounts",
        "autograd",
        "fingerprints",
        "flow",
        "ledger",
        "lives",
        "model",
        "records",
        "session",
        "snapshots",
    ),
    "tracing": (
        "build",
        "carry",
        "cell",
        "documents",
        "errors",
        "events",
        "findings",
        "graph",
        "histories",
        "holders",
        "hooked",
        "ledger",
        "looks",
        "model",
        "names",
        "options",
        "owners",
        "progress",
        "recorder",
        "recording",
        "retaining",
        "session",
        "sites",
        "states",
        "tracebacks",
        "wording",
        "watchdog",
    ),
    "api": ("cell", "celltext", "graph", "names", "options", "tracing"),
    "reasons": (
        "autograd",
        "cell",
        "findings",
        "ledger",
        "model",
        "reach",
        "recording",
        "records",
        "tracing",
    ),
    # The notebook.
    "screen": ("guard", "recording", "render"),
    "celltext": ("cell",),
    "cellrun": (
        "cell",
        "celltext",
        "errors",
        "guard",
        "options",
        "recording",
        "screen",
        "tracing",
    ),
    "subcommands": (
        "api",
        "cellrun",
        "celltext",
        "findings",
        "options",
        "recording",
        "screen",
        "tracing",
    ),
    "magics": ("callers", "cellrun", "options", "subcommands"),
    "extension": ("cellrun", "guard", "magics"),
    "__init__": ("extension",),
}
"""What each room may import of leafmagic, at the top or inside a function."""

OUTSIDE: dict[str, tuple[str, ...]] = {
    "torch": (
        "accesses",
        "api",
        "autograd",
        "behind",
        "documents",
        "drift",
        "carry",
        "holders",
        "hooked",
        "meters",
        "readout",
        "causes",
        "counting",
        "fingerprints",
        "ledger",
        "names",
        "nodewatch",
        "ops",
        "owners",
        "marks",
        "modestack",
        "passes",
        "peeks",
        "recorder",
        "retaining",
        "states",
        "tracebacks",
        "updates",
        "tracing",
        "reasons",
        "withheld",
    ),
    "IPython": ("cellrun", "extension", "magics", "render/live", "screen", "subcommands"),
    "traitlets": ("extension", "magics", "render/widget"),
    "anywidget": ("render/widget", "screen"),
    "networkx": ("graph",),
    "numpy": ("histories",),
    "executing": ("cell",),
    "rich": ("render/text",),
}
"""Who may import what is not leafmagic's own and not in the standard library."""

LAZY_ONLY = {
    ("screen", "anywidget"),
    ("screen", "IPython"),
    ("render/live", "IPython"),
    ("graph", "networkx"),
    ("histories", "numpy"),
}
"""Only inside functions: importing leafmagic must not import these."""


def imports(tree: ast.AST) -> Iterator[tuple[str, bool, int]]:
    """Yield what is imported at run time, whether inside a function, and the line."""
    stack: list[tuple[ast.AST, bool]] = [(tree, False)]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            stack += [(child, inside) for child in node.orelse]
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, inside, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno}: imports are absolute"
            module = node.module or ""
            if module in ("leafmagic", "leafmagic.render", "leafmagic.findings"):
                for alias in node.names:
                    yield f"{module}.{alias.name}", inside, node.lineno
            else:
                yield module, inside, node.lineno
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        stack += [(child, inside) for child in ast.iter_child_nodes(node)]


def room_of(path: Path) -> str:
    """Return ``"render"`` for every file of that package, else the file's own name."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def breaches(source: str, room: str, name: str) -> list[str]:
    """Return what a file imports against the tables."""
    found = []
    for module, inside, line in imports(ast.parse(source)):
        top, _, rest = module.partition(".")
        if top in sys.stdlib_module_names:
            continue
        if top == "leafmagic":
            target = rest.partition(".")[0]
            if target and target in MAY_IMPORT and target not in MAY_IMPORT[room]:
                found.append(f"{name}:{line} imports leafmagic.{target}")
        elif name not in OUTSIDE.get(top, ()):
            found.append(f"{name}:{line} imports {top}")
        elif (name, top) in LAZY_ONLY and not inside:
            found.append(f"{name}:{line} imports {top} at the top")
    return found


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(ROOT)) for p in FILES])
def test_imports_follow_the_table(path: Path) -> None:
    room = room_of(path)
    assert room in MAY_IMPORT, f"{room} has no row in MAY_IMPORT"
    name = path.relative_to(ROOT).with_suffix("").as_posix()
    assert breaches(path.read_text(), room, name) == []


def test_no_row_without_a_file() -> None:
    assert set(MAY_IMPORT) == {room_of(path) for path in FILES}


@pytest.mark.parametrize(
    ("source", "room", "name"),
    [
        ("import torch", "graph", "graph"),
        ("import torch.nn as nn", "render", "render/svg"),
        ("from torch import Tensor", "findings", "findings/base"),
        ("def f():\n    from leafmagic import tracing", "render", "render/text"),
        ("from leafmagic.magics import LeafMagic", "tracing", "tracing"),
        ("import anywidget", "screen", "screen"),
        ("import requests", "magics", "magics"),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    import torch", "events", "events"),
    ],
)
def test_the_table_can_be_broken(source: str, room: str, name: str) -> None:
    assert breaches(source, room, name)


@pytest.mark.parametrize(
    ("source", "room", "name"),
    [
        ("import json, sys", "graph", "graph"),
        ("if TYPE_CHECKING:\n    import torch", "graph", "graph"),
        ("def f():\n    import anywidget", "screen", "screen"),
        ("from leafmagic import __version__", "tracing", "tracing"),
    ],
)
def test_what_is_allowed_is_allowed(source: str, room: str, name: str) -> None:
    assert breaches(source, room, name) == []


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(ROOT)) for p in FILES])
def test_no_module_over_400_lines_and_no_function_over_60(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    long = [
        f"{node.name}: {node.end_lineno - node.lineno + 1}"
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > 60
    ]
    assert not long

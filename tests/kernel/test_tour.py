"""The guided tour runs from top to bottom and says what it promises.

The notebook is kept with its static pictures. To make them anew after a change::

    LEAFMAGIC_WRITE_TOUR=1 python -m pytest tests/kernel/test_tour.py
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.kernel

TOUR = Path(__file__).resolve().parents[2] / "demo" / "tour.ipynb"
MAX_BYTES = 600_000

WARNED: dict[str, list[str]] = {
    "[2] xx.grad, ww.grad": ["LM102", "LM102"],
    "[9] a = a + lr * a.grad": ["LM103"],
    "[9] a = a.add(lr * a.grad)": ["LM103"],
    "[11] [t.is_leaf for t in (a, b, c, d, e, f)]": ["LM101"] * 4,
}
RAISED: dict[str, tuple[str, str]] = {
    "[7] h.sum().backward()": ("RuntimeError", "LM202"),
    "[8] w += 1": ("RuntimeError", "LM201"),
    "[9] a.add_(lr * a.grad)": ("RuntimeError", "LM201"),
    "[10] a.requires_grad()": ("TypeError", "LM301"),
}
"""Section and last line of a cell, and what it gets told. All other cells are right."""


def _read(path: Path) -> Any:
    import nbformat

    return nbformat.read(path, as_version=4)


def _cells(notebook: Any) -> list[tuple[str, Any]]:
    """Return the code cells, called by their section's number and their last line."""
    section, found = "", []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            heading = re.match(r"## (\d+)?", cell.source)
            section = (heading.group(1) or "") if heading else section
        else:
            found.append((f"[{section}] {cell.source.splitlines()[-1]}", cell))
    return found


def _twins(cell: Any) -> list[Any]:
    return [
        out.data for out in cell.outputs if "lm-twin" in out.get("data", {}).get("text/html", "")
    ]


def _check(notebook: Any) -> None:
    seen = set()
    for name, cell in _cells(notebook):
        if not cell.source.startswith("%%autograd"):
            assert cell.outputs == [], name
            continue
        (twin,) = _twins(cell)
        codes = re.findall(r"\[(LM\d+)\]", twin["text/plain"])
        errors = [out for out in cell.outputs if out.output_type == "error"]
        assert ("raises-exception" in cell.metadata.get("tags", ())) == bool(errors), name
        if name in RAISED:
            seen.add(name)
            (error,) = errors
            assert (error.ename, codes) == (RAISED[name][0], [RAISED[name][1]]), name
            assert RAISED[name][1] in error.traceback[-1], name
        else:
            assert codes == WARNED.get(name, []), name
            seen.add(name)
    assert {*WARNED, *RAISED} <= seen


def _as_kept(notebook: Any) -> str:
    """Return the notebook without what is of this machine or of no use without a kernel."""
    view = "application/vnd.jupyter.widget-view+json"
    notebook.metadata = {
        "kernelspec": notebook.metadata["kernelspec"],
        "language_info": {"name": "python"},
    }
    for _, cell in _cells(notebook):
        cell.metadata.pop("execution", None)
        cell.outputs = [out for out in cell.outputs if view not in out.get("data", {})]
        for out in cell.outputs:
            if out.output_type == "error":
                # Paths as far as they are the same everywhere.
                out.traceback = [
                    re.sub(r"/[^\s\x1b]*?/site-packages/", "", part) for part in out.traceback
                ]
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    missing = [name for name in ("ipykernel", "nbclient") if not importlib.util.find_spec(name)]
    if missing:
        reason = f"the tour needs {', '.join(missing)}"
        if os.environ.get("LEAFMAGIC_REQUIRE_KERNEL", "") not in ("", "0"):
            pytest.fail(f"LEAFMAGIC_REQUIRE_KERNEL is set, but {reason}")
        pytest.skip(reason)
    from nbclient import NotebookClient

    home = tmp_path_factory.mktemp("tour")
    notebook = _read(TOUR)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):
            patch.setenv(name, str(home / name))
        # Cells that are meant to raise say so by their tag; any other error fails here.
        NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(home)}}).execute()
    return notebook


def test_every_cell_says_what_the_tour_promises(executed: Any) -> None:
    _check(executed)
    if os.environ.get("LEAFMAGIC_WRITE_TOUR") == "1":
        TOUR.write_text(_as_kept(executed), encoding="utf-8")


def test_the_kept_pictures_are_the_ones_that_the_tour_shows(executed: Any) -> None:
    _check(_read(TOUR))


def test_the_kept_notebook_is_small_and_of_no_machine() -> None:
    text = TOUR.read_text(encoding="utf-8")
    assert len(text.encode()) < MAX_BYTES
    assert not re.search(r"/(?:home|root|tmp|usr|work|opt|Users)/|site-packages", text)
    notebook = json.loads(text)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}

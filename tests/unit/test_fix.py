"""``%autograd fix`` and ``Trace.fixed_source``, in a real shell."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.completer import provisionalcompleter

import leafmagic

CELL = """%%autograd --into t --mode off
w = torch.ones(3, requires_grad=True)
w -= 0.5  # a step
"""
MENDED = """%%autograd --into t --mode off
w = torch.ones(3, requires_grad=True)
with torch.no_grad():
    w -= 0.5  # a step
"""


@pytest.fixture
def ip(shell: Any) -> Any:
    shell.extension_manager.load_extension("leafmagic")
    shell.magics_manager.registry["LeafMagic"].mode = "off"
    shell.user_ns["torch"] = torch
    return shell


@pytest.fixture
def payloads(ip: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Note what is put in front of the user, as a kernel would send it."""
    found: list[tuple[str, bool]] = []

    def note(text: str, replace: bool = False) -> None:
        found.append((text, replace))

    monkeypatch.setattr(ip, "set_next_input", note)
    return found


def test_the_mended_cell_comes_next_and_runs(
    ip: Any, run_cell: Any, payloads: list[Any], capsys: Any
) -> None:
    run_cell(CELL, fails=True, store_history=True)
    assert payloads == []
    capsys.readouterr()
    run_cell("%autograd fix", store_history=True)
    assert payloads == [(MENDED, False)]
    assert capsys.readouterr().out == (
        "leafmagic: the next cell is Cell In[1] with LM201 (line 3) fixed\n"
    )
    run_cell(payloads[0][0], store_history=True)
    assert ip.user_ns["t"].findings == ()
    assert ip.user_ns["w"].tolist() == [0.5] * 3


@pytest.mark.parametrize("kind", ["leaf_inplace", "LM201"])
def test_one_kind_is_fixed(ip: Any, run_cell: Any, payloads: list[Any], kind: str) -> None:
    run_cell(CELL, fails=True)
    run_cell(f"%autograd fix {kind}")
    assert payloads == [(MENDED, False)]
    assert leafmagic.last().fixed_source(kind) == MENDED


@pytest.mark.parametrize(
    ("cell", "line", "says"),
    [
        (None, "%autograd fix", "there is no trace yet"),
        (CELL, "%autograd fix nonsense", "fix: unknown kind 'nonsense'"),
        (CELL, "%autograd fix hidden_leaf", "fix: no hidden_leaf was found in Cell In[1]"),
        ("%%autograd\nx = torch.ones(3)", "%autograd fix", "fix: nothing was found in Cell In[1]"),
    ],
)
def test_where_there_is_nothing_to_fix_it_says_so_in_one_line(
    ip: Any, run_cell: Any, payloads: list[Any], capsys: Any, cell: Any, line: str, says: str
) -> None:
    leafmagic.recording.NEWEST.clear()
    if cell:
        run_cell(cell, fails=cell is CELL)
    capsys.readouterr()
    run_cell(line, fails=True)
    shown = capsys.readouterr()
    (said,) = (shown.out + shown.err).strip().splitlines()
    assert said.startswith(f"UsageError: {says}")
    assert payloads == []


def test_what_has_no_edit_is_named(
    ip: Any, run_cell: Any, payloads: list[Any], capsys: Any
) -> None:
    run_cell(
        "w = torch.ones(3, requires_grad=True)\ndef step():\n    w.sub_(1)", store_history=True
    )
    run_cell("%%autograd\nstep()", fails=True, store_history=True)
    capsys.readouterr()
    run_cell("%autograd fix", fails=True)
    shown = capsys.readouterr()
    assert "nothing to apply to Cell In[2]; LM201 (line 3): to be edited in Cell In[1]" in (
        shown.out + shown.err
    )
    with pytest.raises(ValueError, match="to be edited in Cell"):
        leafmagic.last().fixed_source()


def test_under_always_on_it_is_the_cell_before_that_is_fixed(
    ip: Any, run_cell: Any, payloads: list[Any], capsys: Any
) -> None:
    run_cell("%autograd on --mode off", store_history=True)
    body = CELL.partition("\n")[2]
    run_cell(body, fails=True, store_history=True)
    run_cell("# nothing\n1", store_history=True)
    run_cell("%autograd fix", store_history=True)
    assert payloads == [(MENDED.partition("\n")[2], False)]
    capsys.readouterr()
    run_cell("%autograd status", store_history=True)
    assert "Cell In[2]" in capsys.readouterr().out
    run_cell("%autograd off", store_history=True)


@pytest.mark.parametrize("head", ["%%autograd\n%%time\n", "\n\n%%autograd\n"])
def test_what_stands_above_the_code_stays(
    ip: Any, run_cell: Any, payloads: list[Any], head: str
) -> None:
    body, mended = CELL.partition("\n")[2], MENDED.partition("\n")[2]
    run_cell(head + body, fails=True, store_history=True)
    run_cell("%autograd fix", store_history=True)
    assert payloads[0][0].lstrip("\n") == (head + mended).lstrip("\n")


def test_tab_completes_what_was_found(ip: Any, run_cell: Any) -> None:
    run_cell(CELL, fails=True)
    with provisionalcompleter():
        line = "%autograd fix "
        found = {c.text for c in ip.Completer.completions(line, len(line))}
        assert found == {"leaf_inplace", "LM201"}
        line = "%autograd fi"
        assert "fix" in {c.text for c in ip.Completer.completions(line, len(line))}


def test_a_saved_trace_can_be_fixed(ip: Any, run_cell: Any, tmp_path: Path) -> None:
    run_cell(CELL, fails=True)
    ip.user_ns["t"].save(tmp_path / "t.json")
    assert leafmagic.load(tmp_path / "t.json").fixed_source() == MENDED
    assert leafmagic.load(tmp_path / "t.json").findings == ip.user_ns["t"].findings


def test_of_a_script_it_is_the_text_of_the_file(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    body = "with leafmagic.trace() as t:\n    w = torch.ones(3, requires_grad=True)\n    {}w -= 1\n"
    script.write_text(body.format(""))
    names: dict[str, Any] = {"leafmagic": leafmagic, "torch": torch}
    with pytest.raises(RuntimeError, match="leaf Variable"):
        exec(compile(script.read_text(), str(script), "exec"), names)
    wrapped = "with torch.no_grad():\n        "
    assert names["t"].fixed_source() == body.format(wrapped)


def test_a_trace_of_no_text_says_so(ip: Any, run_cell: Any) -> None:
    run_cell(CELL, fails=True)
    document = leafmagic.last().document()
    document["cell"]["source"] = ""
    with pytest.raises(ValueError, match="not of a cell"):
        leafmagic.recording.Trace(document).fixed_source()


def test_functions_of_earlier_cells_keep_their_source_under_always_on(
    ip: Any, run_cell: Any
) -> None:
    """What was lent to `linecache` for a cell must not take IPython's own entry with it."""
    run_cell("%autograd on --mode off", store_history=True)
    run_cell("def step(w):\n    w.sub_(1)", store_history=True)
    filename = ip.user_ns["step"].__code__.co_filename
    assert filename.startswith("<")
    assert linecache.getlines(filename) == ["def step(w):\n", "    w.sub_(1)\n"]
    run_cell("step(torch.ones(3, requires_grad=True))", fails=True, store_history=True)
    (finding,) = leafmagic.last().findings
    assert finding.fix == "with torch.no_grad(): w.sub_(1)"
    assert finding.edits[0].cell == "Cell In[2]"
    run_cell("%autograd off", store_history=True)
    run_cell("%%autograd\n%%time\nw = torch.ones(3)", store_history=True)
    assert not linecache.getlines("<timed exec>")

"""The magics with the real tracer, in a real shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
import torch._dynamo  # optimizers import it, and it changes torch

import leafmagic

CELL = """%%autograd --into t --mode off
import torch
w = torch.ones(3, requires_grad=True)
h = w * 2
loss = h.sum()
loss.backward()
h.grad
"""


@pytest.fixture
def ip(shell: Any) -> Any:
    shell.extension_manager.load_extension("leafmagic")
    return shell


def test_a_traced_cell_ends_with_nothing_installed(ip: Any, run_cell: Any) -> None:
    run_cell(CELL)
    assert torch._C._len_torch_function_stack() == 0
    trace = ip.user_ns["t"]
    assert not trace.running
    assert {"w", "h", "loss"} <= {node.name for node in trace.graph.nodes}
    assert trace.graph.named("h").line == 4
    assert trace.graph.named("h").cell == "Cell In[1]"
    (finding,) = trace.findings
    assert (finding.variable, finding.line, finding.symptom_line) == ("h", 4, 7)


def test_text_mode_prints_the_graph_and_the_warning(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell(CELL.replace("--mode off", "--mode text"))
    shown = capsys.readouterr().out
    assert "h.retain_grad()" in shown
    assert "Cell In[1], line 4" in shown


def test_strict_names_the_line(ip: Any, run_cell: Any) -> None:
    result = run_cell(CELL.replace("--mode off", "--mode off --strict"), fails=True)
    assert "line 4" in str(result.error_in_exec)
    run_cell(CELL.replace("--mode off", "--mode off --strict --retain h"))
    run_cell(CELL.replace("--mode off", "--mode off --strict --ignore nonleaf_grad_read"))


NOTHING = "leafmagic: --retain: nothing called `no` was retained\n"
SAID = "leafmagic: --retain no: no tensor had that name\n"


@pytest.mark.parametrize(
    ("options", "body", "said"),
    [
        ("--retain no", "h = w * 2", SAID),
        ("--retain h --retain no", "h = w * 2\nno = 3", SAID),
        ("--retain no", "no = w * 2\ndel no", ""),
        ("--retain w", "h = w * 2", ""),
        ("--retain no", "def f(x):\n    no = x * 2\n    return no.sum()\nf(w).backward()", ""),
        ("--retain no", "def f(no):\n    return (no * 2).sum()\nf(w * 2).backward()", ""),
        ("--retain no", "hs = [no * 2 for no in [w * 2, w * 3]]", ""),
        ("--retain no", "1 / 0", ""),
        ("--retain no", "with torch.no_grad():\n    no = w * 2", NOTHING),
        ("--retain no", "def f(x):\n    no = x.detach() * 2\n    return no\nf(w)", NOTHING),
        ("--retain no", "no = w.detach()\nno = w * 2", ""),
        ("", "h = w * 2", ""),
    ],
)
def test_a_name_that_cannot_be_retained_is_said(
    ip: Any, run_cell: Any, capsys: Any, options: str, body: str, said: str
) -> None:
    run_cell("import torch\nw = torch.ones(2, requires_grad=True)")
    run_cell(f"%%autograd --mode off {options}\n{body}", fails="/ 0" in body)
    assert capsys.readouterr().err == said


def test_a_name_retained_by_default_need_not_be_in_every_cell(
    ip: Any, run_cell: Any, capsys: Any
) -> None:
    run_cell("%config LeafMagic.retain = ['no']")
    run_cell("%%autograd --mode off\nx = 1")
    run_cell("%autograd on --mode off --retain no")
    run_cell("x = 1")
    run_cell("%autograd off")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "inside",
    ["%%time\n%%autograd --mode off --into t\n", "%%autograd --mode off --into t\n%%time\n"],
)
def test_with_time(ip: Any, run_cell: Any, inside: str) -> None:
    run_cell(
        inside + "w = __import__('torch').ones(3, requires_grad=True)\nl = w.sum()\nl.backward()"
    )
    assert {"w", "l"} <= {node.name for node in ip.user_ns["t"].graph.nodes}
    assert ip.user_ns["t"].document()["status"]["steps"] == 1


@pytest.mark.parametrize("first", ["%%autograd --mode off --into t\n", ""])
def test_one_number_for_a_cell_with_capture(ip: Any, run_cell: Any, first: str) -> None:
    body = CELL.partition("\n")[2]
    if not first:
        run_cell("%autograd on --mode off --into t")
    number = ip.execution_count
    run_cell(f"{first}%%capture got\n{body}")
    trace = ip.user_ns["t"]
    (finding,) = trace.findings
    assert trace.cell.label == f"Cell In[{number}]"
    assert finding.cell == f"Cell In[{number}] <below %%capture>"
    assert finding.source == "h = w * 2"
    assert body.splitlines()[finding.line - 1] == finding.source
    assert trace.graph.named("h").cell == finding.cell
    run_cell("%autograd off")


def test_the_number_of_code_that_a_cell_hands_to_the_shell(ip: Any, run_cell: Any) -> None:
    body = CELL.partition("\n")[2]
    number = ip.execution_count
    run_cell(f"%%autograd --mode off --into t\nget_ipython().run_cell({body!r})\nx = 1")
    (finding,) = ip.user_ns["t"].findings
    assert finding.cell == f"Cell In[{number}] <nested>"
    run_cell(f"%%autograd --mode off --into t\n{body}")
    (finding,) = ip.user_ns["t"].findings
    assert finding.cell == f"Cell In[{number + 1}]"


def test_lines_inside_time_are_found(ip: Any, run_cell: Any) -> None:
    run_cell("%%time\n" + CELL)
    trace = ip.user_ns["t"]
    assert trace.graph.named("h").source == "w * 2"
    assert trace.graph.named("h").line == 4


def test_the_note_of_an_error_is_said_once(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell("import torch\nw = torch.ones(3, requires_grad=True)")
    result = run_cell("%%autograd --mode off\nw += 1", fails=True)
    shown = capsys.readouterr().out
    notes = result.error_in_exec.__notes__
    assert len(notes) == len(set(notes)) == 1
    assert shown.count(notes[0].splitlines()[0]) == 1
    assert "recorder" not in shown


@pytest.mark.parametrize("ending", [".svg", ".html", ".json", ".dot"])
def test_save(ip: Any, run_cell: Any, tmp_path: Path, ending: str) -> None:
    run_cell(CELL)
    path = tmp_path / f"graph{ending}"
    run_cell(f"%autograd save {path}")
    text = path.read_text()
    assert "loss" in text
    if ending == ".json":
        assert json.loads(text)["cell"]["label"] == "Cell In[1]"


def test_save_where_nothing_can_be_written(ip: Any, run_cell: Any, tmp_path: Path) -> None:
    run_cell(CELL)
    result = run_cell(f"%autograd save {tmp_path / 'no' / 'folder.svg'}", fails=True)
    assert type(result.error_in_exec).__name__ == "UsageError"


def test_report_shows_the_last_trace_again(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell(CELL)
    capsys.readouterr()
    run_cell("%autograd report")
    assert "h.retain_grad()" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("loss", ("loss", "w")),
        ("loss * 2", ("w",)),
        ("[loss, h]", ("loss", "h")),
        ("net", ("weight", "bias")),
        ("(report)", ("report", "w")),
    ],
)
def test_draw_after_the_fact(
    ip: Any, run_cell: Any, capsys: Any, expression: str, says: tuple[str, ...]
) -> None:
    run_cell(
        "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 2\nloss = h.sum()\n"
        "net = torch.nn.Linear(2, 1)\nreport = h.mean()"
    )
    capsys.readouterr()
    run_cell(f"%autograd {expression}")
    shown = capsys.readouterr().out
    for word in says:
        assert word in shown, shown


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("torch.nn.Linear(2, 3)", ("weight", "bias")),
        ("torch.nn.Sequential(torch.nn.Linear(2, 3))", ("0.weight", "0.bias")),
        ("box.net", ("weight", "bias")),
        ("net", ("net.weight", "net.bias")),
        ("[torch.nn.Parameter(torch.ones(2))]", ("[0]",)),
        ("dict(a=torch.nn.Parameter(torch.ones(2)))", ("['a']",)),
        ("net.parameters()", ("net.weight", "net.bias")),
        ("net.named_parameters()", ("net.weight", "net.bias")),
        ("torch.nn.Linear(1, 1).named_parameters()", ("['weight']", "['bias']")),
        ("[weight, {'a': (net.bias,)}]", ("weight", "net.bias")),
    ],
)
def test_a_module_without_a_name_has_named_parameters(
    ip: Any, run_cell: Any, capsys: Any, expression: str, names: tuple[str, ...]
) -> None:
    run_cell(
        "import torch\nclass Box: pass\nbox = Box()\nbox.net = torch.nn.Linear(2, 1)\n"
        "net = torch.nn.Linear(2, 1)\nweight = torch.ones(1)"
    )
    capsys.readouterr()
    run_cell(f"%autograd {expression}")
    rows = capsys.readouterr().out.partition("made at\n")[2].splitlines()
    assert [row.split()[0] for row in rows if row.strip()] == list(names)
    assert "" not in ip.user_ns


def test_an_iterator_of_the_users_is_not_used_up(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell("import torch\nleft = torch.nn.Linear(2, 1).parameters()")
    run_cell("%autograd left", fails=True)
    assert "such as net.parameters()" in capsys.readouterr().err
    run_cell("n = len(list(left))")
    assert ip.user_ns["n"] == 2


def test_every_cell(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell("%autograd on")
    run_cell("x = 1")
    capsys.readouterr()
    run_cell("y = 2")
    assert capsys.readouterr().out == ""  # nothing to see, nothing shown
    run_cell("import torch\nv = torch.ones(3, requires_grad=True)\n\n(v * 3).sum().backward()")
    shown = capsys.readouterr().out
    assert "Cell In[4]" in shown
    assert "line 2" in shown
    run_cell("%autograd off")


@pytest.mark.parametrize(
    "between", ["", "# a note\n1 + 1", "%matplotlib --list", "2 ** 0.5\nprint(7)"]
)
@pytest.mark.parametrize("off", [True, False])
def test_the_last_trace_is_that_of_the_cell_that_did_something(
    ip: Any, run_cell: Any, capsys: Any, between: str, off: bool
) -> None:
    run_cell("import leafmagic")
    run_cell("%autograd on --mode off --into T")
    number = ip.execution_count
    run_cell(CELL.partition("\n")[2])
    trace = ip.user_ns["T"]
    assert [f.code for f in trace.findings] == ["LM101"]
    if between:
        run_cell(between)
    if off:
        run_cell("# enough\n%autograd off")
    capsys.readouterr()
    run_cell("%autograd status")
    assert f"last trace: Cell In[{number}], nodes" in capsys.readouterr().out
    run_cell("%autograd --mode text report")
    assert "LM101" in capsys.readouterr().out
    run_cell("same = leafmagic.last() is T")
    run_cell("found = len(T.findings)")
    assert (ip.user_ns["same"], ip.user_ns["found"]) == (True, 1)
    run_cell("%autograd off")
    assert leafmagic.last() is ip.user_ns["T"] is trace


@pytest.mark.parametrize(
    "cell",
    ["v.grad = None", "v.requires_grad_(False)", "with torch.no_grad():\n    v -= 1", "l.backward()",
     "v2 = v * 2", "opt.step()"],
)  # fmt: skip
def test_a_cell_that_did_anything_with_torch_is_the_last(ip: Any, run_cell: Any, cell: str) -> None:
    run_cell("import torch\nv = torch.ones(3, requires_grad=True)\nl = v.sum()")
    run_cell("opt = torch.optim.SGD([v], lr=1)\nv.sum().backward()")
    run_cell("%autograd on --mode off --into T")
    run_cell(cell)
    assert leafmagic.last() is ip.user_ns["T"]
    run_cell("%autograd off")
    assert ip.user_ns["T"].cell.text == cell


def test_a_name_that_the_cell_takes_itself_stays(ip: Any, run_cell: Any) -> None:
    run_cell("%autograd on --mode off --into T")
    run_cell("import torch\nT = torch.ones(2, requires_grad=True) * 2")
    assert isinstance(ip.user_ns["T"], torch.Tensor)
    run_cell("%autograd off")


def test_exported_scripts_run(ip: Any, run_cell: Any, capsys: Any) -> None:
    run_cell(
        f"get_ipython().run_cell_magic('autograd', '--mode text', {CELL.partition(chr(10))[2]!r})"
    )
    assert "Cell In[1], line 4" in capsys.readouterr().out


def test_an_error_in_an_exported_script_is_shown_once(ip: Any, run_cell: Any, capsys: Any) -> None:
    result = run_cell(
        "get_ipython().run_cell_magic('autograd', '--mode off', 'x = 1\\n1 / 0\\n')", fails=True
    )
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    shown = capsys.readouterr().out
    assert shown.count("ZeroDivisionError: division by zero") == 1
    assert "line 3" in shown
    assert "cellrun" not in shown


def test_code_of_an_earlier_cell_has_that_cells_label(ip: Any, run_cell: Any) -> None:
    run_cell("import torch\n\ndef double(x):\n    return x * 2")
    run_cell(
        "%%autograd --mode off --into t\nw = torch.ones(3, requires_grad=True)\n"
        "l = double(w).sum()\nl.backward()"
    )
    (node,) = [n for n in ip.user_ns["t"].graph.nodes if n.op == "mul" and n.kind == "op"]
    assert (node.cell, node.line) == ("Cell In[1]", 4)

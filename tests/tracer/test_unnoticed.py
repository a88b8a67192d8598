"""What a cell catches, formats and records by itself is what it would be without a trace."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch
from tracing_kit import both, check_well, run_plain, run_traced

CAUGHT = {
    "op": "torch.ones(2) @ torch.ones(3)",
    "module": "torch.nn.Linear(2, 2)(torch.ones(3))",
    "sink": "torch.ones(2, requires_grad=True).numpy()",
    "custom function": "Fails.apply(torch.ones(2, requires_grad=True))",
    "library": "torch.optim.SGD([torch.ones(2, requires_grad=True)], 0.1).step(lambda: 1 / 0)",
    "later call": "for i in range(200):\n        torch.ones(3 if i == 199 else 2) @ torch.ones(2)",
    "caught twice": "again()",
}
HEAD = """
import logging, io, traceback
class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise ValueError('no')
def again():
    try:
        torch.ones(2) @ torch.ones(3)
    except RuntimeError:
        torch.ones(2).view(3)
"""
WAYS = {
    "format_exc": "said = traceback.format_exc()",
    "print_exc": "out = io.StringIO()\n    traceback.print_exc(file=out)\n    said = out.getvalue()",
    "logging": (
        "out = io.StringIO()\n    logger = logging.Logger('l')\n"
        "    logger.addHandler(logging.StreamHandler(out))\n"
        "    logger.exception('failed')\n    said = out.getvalue()"
    ),
}
PLACE = r"<ipython-input-\d+-\w+>"


def said_by(ran: Any) -> list[str]:
    """The formatted traceback, the cell by one name and without the carets."""
    import re

    lines = re.sub(PLACE, "cell", ran.ns["said"]).splitlines()
    return [line for line in lines if set(line.strip()) - set("^~")]


def caught(call: str, way: str) -> str:
    return f"{HEAD}try:\n    {call}\nexcept Exception:\n    {way}\n"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("call", CAUGHT)
def test_a_traceback_formatted_in_the_cell_is_the_same(call: str, way: str) -> None:
    plain, traced = both(caught(CAUGHT[call], WAYS[way]))
    check_well(traced)
    assert "Error" in plain.ns["said"]
    assert said_by(traced) == said_by(plain)


IN_PYTHON = {
    "backward": "torch.ones(2, requires_grad=True).mul(2).backward()",
    "functional": "torch.nn.functional.layer_norm(torch.ones(3), (7,))",
    "in a hook": (
        "x = torch.ones(2, requires_grad=True)\n    x.register_hook(lambda g: 1 / 0)\n"
        "    (x * 2).sum().backward()"
    ),
}


@pytest.mark.parametrize("call", IN_PYTHON)
def test_where_torch_looks_for_modes_in_python_only_its_own_frames_are_added(call: str) -> None:
    plain, traced = both(caught(IN_PYTHON[call], WAYS["format_exc"]))
    check_well(traced)
    assert "leafmagic/" not in traced.ns["said"]
    assert "leafmagic call" not in traced.ns["said"]
    added = [line for line in said_by(traced) if line.startswith("  File")]
    for line in said_by(plain):
        if line.startswith("  File"):
            added.remove(line)
    assert len(added) == 2
    assert added[1].endswith("in handle_torch_function")


def test_what_caught_errors_hold_is_the_users_and_torchs() -> None:
    text = """
try:
    torch.ones(2) @ torch.ones(3)
except RuntimeError as error:
    step, held = error.__traceback__, []
    while step is not None:
        held.append(step.tb_frame.f_code.co_filename)
        step = step.tb_next
"""
    plain, traced = both(text)
    check_well(traced)
    assert len(traced.ns["held"]) == len(plain.ns["held"]) == 1


READ = """
import warnings
w = torch.ones(2, requires_grad=True)
h = w * 2
h.sum().backward()
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    h.grad
said = [(w.category.__name__, str(w.message), w.lineno) for w in seen]
"""


def test_a_recorder_of_the_users_gets_torchs_warning() -> None:
    plain, traced = both(READ)
    check_well(traced)
    assert len(plain.ns["said"]) == 1
    assert traced.ns["said"] == plain.ns["said"]
    assert [f.code for f in traced.trace.findings] == ["LM101"]


def test_a_way_of_the_users_to_show_warnings_gets_it() -> None:
    text = """
import warnings
said, before = [], warnings.showwarning
warnings.showwarning = lambda message, *rest, **named: said.append(str(message))
w = torch.ones(2, requires_grad=True)
h = w * 2
h.sum().backward()
h.grad
warnings.showwarning = before
"""
    plain, traced = run_plain(text), run_traced(text)
    assert len(plain.ns["said"]) == 1
    assert traced.ns["said"] == plain.ns["said"]


SHELL = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
shell.run_cell("%load_ext leafmagic")
CELL = "import torch\\nw = torch.ones(2, requires_grad=True)\\nh = w * 2\\nh.sum().backward()\\nprint('read', h.grad)"
import sys
for first in sys.argv[1:]:
    print("cell", first, file=sys.stderr, flush=True)
    shell.run_cell(first + "\\n" + CELL)
with __import__("leafmagic").trace():
    print("cell block", file=sys.stderr, flush=True)
    shell.user_ns["h"].grad
"""


def test_torchs_warning_is_dropped_only_where_ours_is_shown() -> None:
    cells = {
        "%%autograd --mode text": False,
        "%%autograd --mode text --ignore nonleaf_grad_read": True,
        "%%autograd --mode text --ignore LM101": True,
        "%%autograd --mode off": True,
        "%%autograd --mode text --ignore graph_freed": False,
    }
    command = [sys.executable, "-W", "always", "-c", SHELL, *cells]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    parts = [part.partition("\n") for part in done.stderr.split("cell ")[1:]]
    warned = {head: "is not a leaf Tensor is being accessed" in rest for head, _, rest in parts}
    assert warned == {**cells, "block": True}
    assert done.stdout.count("h.retain_grad()") == 2


def test_a_compiled_function_is_compiled_once_more_and_no_oftener() -> None:
    compiled: list[Any] = []

    def backend(module: Any, _inputs: Any) -> Any:
        compiled.append(module)
        return module.forward

    torch._dynamo.reset()
    ns = {"torch": torch, "f": torch.compile(lambda x: (x * 2).sin().sum(), backend=backend)}
    seen = []
    for run in (run_plain, run_traced, run_plain, run_traced):
        check = run("x = torch.ones(3, requires_grad=True)\nf(x).backward()\nf(x).backward()", ns)
        assert check.error is None
        seen.append(len(compiled))
    torch._dynamo.reset()
    assert seen == [1, 2, 2, 2]

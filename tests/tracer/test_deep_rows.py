"""Rows of nodes that only the whole process knows: freeing them must not kill it.

torch frees a row of nodes that were looked at recursively, so each program runs in a
process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HEAD = "import gc, torch, leafmagic\nx = torch.ones(2, requires_grad=True)\n"
PROGRAMS = {
    "written in place": """
with leafmagic.trace(grads="off"):
    h = x * 1
    for _ in range(60_000):
        h.mul_(1.0)
""",
    "its elements written": """
with leafmagic.trace(grads="off"):
    h = torch.zeros(5)
    for _ in range(60_000):
        h[0] = x[0]
""",
    "looked at piece by piece": """
h, keep = x * 1, []
for i in range(60_000):
    h = h * 1
    if i % 2_900 == 0:
        keep.append(h)
leafmagic.graph_of(*keep, h)
keep.clear()
""",
    "named piece by piece": """
h = x * 1
for i in range(60_000):
    h = h * 1
    if i % 2_900 == 0:
        globals()[f"k{i}"] = h
with leafmagic.trace(grads="off"):
    torch.ones(1) + 1
for name in [name for name in globals() if name.startswith("k")]:
    del globals()[name]
""",
    "longer with each trace": """
h = x
for _ in range(17):
    with leafmagic.trace(grads="off"):
        for _ in range(3_500):
            h = h * 1
    h = h * 1
""",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_process_survives_the_end_of_a_deep_graph(program: str, tmp_path: Path) -> None:
    script = tmp_path / "deep.py"
    script.write_text(HEAD + PROGRAMS[program] + "\ndel h\ngc.collect()\nprint('alive')\n")
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.stdout.split()[-1:] == ["alive"], (done.returncode, done.stderr[-500:])

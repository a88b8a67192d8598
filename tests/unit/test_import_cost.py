"""Neither torch nor anywidget is imported before the first use."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "anywidget", "ipywidgets", "networkx")

_PRELUDE = """
import sys
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))
"""
_LOAD = _PRELUDE + "shell.run_cell('%load_ext leafmagic').raise_error()\n"
_STEPS = {
    "import leafmagic": "import sys, leafmagic",
    "dir": "import sys, leafmagic; dir(leafmagic); leafmagic.__version__",
    "%load_ext": _LOAD,
    "help": _LOAD + "shell.object_inspect('%%autograd'); shell.object_inspect('%autograd')",
    "an ordinary cell": _LOAD + "shell.run_cell('x = 1').raise_error()",
    "config": _LOAD + "shell.run_cell('%config LeafMagic.mode = \"off\"').raise_error()",
    "a usage error": _LOAD + "shell.run_cell('%%autograd --mode loud\\nx = 1')",
    "%unload_ext": _LOAD + "shell.run_cell('%unload_ext leafmagic').raise_error()",
}


def _imported(program: str) -> list[str]:
    """Run a program in its own interpreter; return which heavy modules it has then."""
    program += f"\nprint('HEAVY', *[m for m in {HEAVY!r} if m in sys.modules])\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    (line,) = [text for text in done.stdout.splitlines() if text.startswith("HEAVY")]
    return line.split()[1:]


@pytest.mark.parametrize("step", _STEPS)
def test_nothing_heavy_is_imported(step: str) -> None:
    assert _imported(_STEPS[step]) == []


def test_this_test_can_fail() -> None:
    first_use = _LOAD + "shell.run_cell('%%autograd --mode off\\nx = 1').raise_error()"
    assert "torch" in _imported(first_use)
    assert "networkx" in _imported("import sys, networkx")

"""The fixture that proves that nothing is left over can fail."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from leftovers import changes, process_state, shell_state

_LEAKS = {
    "torch function mode": """
        class Mode(torch.overrides.TorchFunctionMode): pass
        Mode().__enter__()
    """,
    "torch dispatch mode": """
        from torch.utils._python_dispatch import TorchDispatchMode
        class Mode(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))
        Mode().__enter__()
    """,
    "module hook": "torch.nn.modules.module.register_module_forward_hook(print)",
    "optimizer hook": "torch.optim.optimizer.register_optimizer_step_post_hook(print)",
    "saved tensor hooks": """
        torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x).__enter__()
    """,
    "anomaly mode": "torch.autograd.set_detect_anomaly(True)",
    "patched method": "torch.Tensor.backward = print",
    "patched function": "torch.autograd.backward = print",
    "showwarning": "warnings.showwarning = print",
    "warning filters": "warnings.simplefilter('error', BytesWarning)",
    "excepthook": "sys.excepthook = print",
    "profile function": "sys.setprofile(lambda *a: None)",
    "lent lines": "linecache.cache['<timed exec>'] = (1, None, ['x'], '<timed exec>')",
    "event": "shell.events.register('post_execute', lambda: None)",
    "input transformer": "shell.input_transformers_cleanup.append(lambda lines: lines)",
    "line magic": "shell.register_magic_function(lambda line: None, 'line', 'leaked')",
    "cell magic": "shell.register_magic_function(lambda l, c: None, 'cell', 'leaked')",
    "configurable": "shell.configurables.append(shell)",
    "completer": "shell.Completer.custom_matchers.append(print)",
    "hook": "shell.set_hook('complete_command', print, str_key='%leaked')",
    "showtraceback": "shell.showtraceback = print",
    # These two are seen by every test that comes after them.
    "thread": """
        threading.Thread(target=threading.Event().wait, name='leafmagic-x', daemon=True).start()
    """,
    "grad mode": "torch.set_grad_enabled(False)",
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Run a clean test, then one leaking test per kind of leak, in a pytest of its own."""
    home = tmp_path_factory.mktemp("leaks")
    program = ["import linecache, sys, threading, warnings", "import torch", ""]
    for number, code in enumerate(["shell.run_cell('x = 1')", *_LEAKS.values()]):
        body = textwrap.indent(textwrap.dedent(code).strip(), "    ")
        program.append(f"def test_{number}(shell):\n{body}\n")
    (home / "test_leaks.py").write_text("\n".join(program))
    options = ["-q", "-p", "conftest", "-p", "no:cacheprovider", "--rootdir", str(home)]
    command = [*options, "-c", "/dev/null", "--junitxml", "report.xml", "test_leaks.py"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *command],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (home / "report.xml").exists(), done.stdout + done.stderr
    # A test that passes and then fails in its teardown is listed twice.
    bad = {
        case.get("name")
        for case in ElementTree.parse(home / "report.xml").iter("testcase")  # noqa: S314
        if case.find("failure") is not None or case.find("error") is not None
    }
    return {name: f"test_{n}" in bad for n, name in enumerate(["clean", *_LEAKS])}


@pytest.mark.parametrize("leak", _LEAKS)
def test_every_leak_is_noticed(outcomes: dict[str, bool], leak: str) -> None:
    assert outcomes[leak]


def test_a_clean_test_passes(outcomes: dict[str, bool]) -> None:
    assert not outcomes["clean"]


def test_no_change_is_no_change(shell: Any) -> None:
    assert changes(process_state(), process_state()) == []
    assert changes(shell_state(shell), shell_state(shell)) == []

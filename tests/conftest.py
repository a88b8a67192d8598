"""Shared fixtures, and the proof after every test that nothing was left installed."""

from __future__ import annotations

import gc
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from leftovers import changes, leafmagic_threads, process_state, shell_state


@pytest.fixture(autouse=True)
def nothing_left_over() -> Iterator[None]:
    """After every test, prove that leafmagic is gone from torch and from the process."""
    before = process_state()
    assert before["grad mode"], "grad mode was off before the test began"
    if "leafmagic.session" in sys.modules:
        sys.modules["leafmagic.session"].SESSION.reset()
    yield
    deadline = time.monotonic() + 3
    while leafmagic_threads() and time.monotonic() < deadline:
        time.sleep(0.02)
    left = changes(before, process_state())
    left += [f"thread alive: {name}" for name in leafmagic_threads()]
    assert not left, "left over after the test:\n" + "\n".join(left)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Item) -> Iterator[None]:
    """Compare the warning filters; pytest itself resets them before fixtures could look."""
    filters, show = list(warnings.filters), warnings.showwarning
    modules = set(sys.modules)
    result = yield
    imported = {name.partition(".")[0] for name in set(sys.modules) - modules}
    if not imported - {"leafmagic"}:
        assert warnings.filters == filters, "left over: warning filters"
    assert warnings.showwarning is show, "left over: warnings.showwarning"
    return result


def drop_shell(shell: Any) -> None:
    """End a shell as IPython's own tests do, and let it go."""
    from IPython.core import async_helpers

    type(shell).clear_instance()
    for cls in type(shell).__mro__:
        if hasattr(cls, "_instance"):
            cls._instance = None
    loop = getattr(async_helpers, "_asyncio_event_loop", None)
    if loop is not None:
        loop.close()
    gc.collect()


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[Any]:
    """A real shell in this process, with leafmagic not loaded."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    hooks = sys.excepthook, sys.displayhook
    InteractiveShell.clear_instance()
    config = Config(HistoryManager={"enabled": False}, InteractiveShell={"colors": "nocolor"})
    shell = InteractiveShell.instance(config=config)
    if hasattr(shell.magics_manager, "load_all_lazy_magics"):
        # IPython's own magics are imported at first use, which would look like a change.
        shell.magics_manager.load_all_lazy_magics()
    before = shell_state(shell)
    try:
        yield shell
        if "leafmagic" in shell.extension_manager.loaded:
            shell.extension_manager.unload_extension("leafmagic")
        left = changes(before, shell_state(shell))
        assert not left, "left over in the shell:\n" + "\n".join(left)
    finally:
        shell.restore_sys_module_state()
        drop_shell(shell)
        sys.excepthook, sys.displayhook = hooks


@pytest.fixture
def run_cell(shell: Any) -> Callable[..., Any]:
    """Run a cell as a front end does, and return IPython's result."""

    def run(text: str, *, store_history: bool = True, fails: bool = False) -> Any:
        result = shell.run_cell(text, store_history=store_history)
        assert result.success != fails, result
        return result

    return run


@pytest.fixture(scope="module")
def case_shell() -> Iterator[Any]:
    """A shell that runs cases one after another; not beside `shell` in one module."""
    from caserun import CaseShell

    with CaseShell() as made:
        yield made


class FakeTrace:
    """What the magics need of a trace, with a record of what was asked of it."""

    made: list[FakeTrace]
    fail_at: str = ""
    findings: tuple[Any, ...] = ()

    def __init__(self, options: Any, *, cell: Any, namespace: Any, label: Any = None) -> None:
        self.options, self.cell, self.namespace = options, cell, namespace
        self.calls: list[str] = []
        self.errors: list[BaseException | None] = []
        self.explained: list[BaseException] = []
        self.running = False
        self.revision = 0
        self.model = SimpleNamespace(tensors={})
        type(self).made.append(self)
        self._maybe_fail("init")

    def _maybe_fail(self, where: str) -> None:
        if type(self).fail_at == where:
            raise ZeroDivisionError(f"broken {where}\nsecond line")

    def start(self) -> None:
        self.calls.append("start")
        self._maybe_fail("start")
        self.running = True

    def stop(self, error: BaseException | None = None) -> None:
        self.calls.append("stop")
        self.running = False
        self.errors.append(error)
        self._maybe_fail("stop")

    def explain(self, error: BaseException) -> None:
        self.explained.append(error)
        self._maybe_fail("explain")
        if not getattr(error, "__notes__", None):
            error.add_note("leafmagic says why")

    def document(self) -> dict[str, Any]:
        self._maybe_fail("document")
        return {
            "cell": {"label": self.cell.label, "source": self.cell.text},
            "status": {"notes": [], "events": 0},
            "nodes": [],
            "findings": [],
        }

    def save(self, path: Any) -> None:
        self.calls.append(f"save {path}")


@pytest.fixture
def fake_trace(monkeypatch: pytest.MonkeyPatch) -> type[FakeTrace]:
    """Put a recording stand-in where the magics look for the tracer."""
    from leafmagic import recording

    made = type("Tracer", (FakeTrace,), {"made": []})
    module = ModuleType("leafmagic.tracing")
    module.Tracer = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "leafmagic.tracing", module)
    monkeypatch.setattr(recording, "NEWEST", made.made)
    return made


@pytest.fixture
def loaded(shell: Any, fake_trace: type[FakeTrace]) -> Any:
    """The shell with leafmagic loaded, a recording tracer, and nothing displayed."""
    shell.extension_manager.load_extension("leafmagic")
    shell.magics_manager.registry["LeafMagic"].mode = "off"
    return shell

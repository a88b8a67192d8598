"""Run the cells of a case in a real shell, one case after another, none seeing the last.

One shell serves many cases, since making one costs more than most cases do. Tracebacks
are shown in their shortest form: IPython's colouring of them is most of what a case that
raises would cost otherwise.
"""

from __future__ import annotations

import contextlib
import gc
import io
import linecache
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import torch
from casefiles import Cell, Spot
from torch.nn.modules import module as torch_module
from torch.optim import optimizer as torch_optimizer

_LABEL = re.compile(r"Cell In\[(\d+)\]")
_FORWARD = re.compile(r'File "(?P<name>[^"]+)", line (?P<line>\d+)')
_NOTE = "leafmagic: "
_LAST = ("last_exc", "last_type", "last_value", "last_traceback")


@dataclass(frozen=True)
class Found:
    """A finding, and where in the case it puts the cause."""

    finding: Any
    spot: Spot | None


@dataclass
class Ran:
    """What a case did.

    Attributes
    ----------
    found : list of Found
        What leafmagic found, in all cells.
    raised : list of str
        Names of the exceptions that ended cells.
    said : list of str
        The texts of errors and warnings, without leafmagic's part.
    points : set of Spot
        The lines that errors and warnings of torch point at.
    notes : list of str
        What leafmagic says of itself, such as that it stopped.
    """

    found: list[Found] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    points: set[Spot] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    @property
    def alarms(self) -> list[Any]:
        """The findings that are more than for information."""
        return [f.finding for f in self.found if f.finding.severity != "info"]


class CaseShell:
    """A shell for cases; a context manager.

    Parameters
    ----------
    traced : bool
        Whether leafmagic is loaded and traces every cell.
    anomaly : bool
        Whether the cells run under torch's anomaly detection.
    """

    def __init__(self, *, traced: bool = True, anomaly: bool = False) -> None:
        self.traced, self.anomaly = traced, anomaly

    def __enter__(self) -> CaseShell:
        """Make the shell; nobody else may have one meanwhile."""
        from IPython.core.interactiveshell import InteractiveShell
        from torch._dynamo.mutation_guard import install_generation_tagging_init
        from traitlets.config import Config

        # What torch.compile changes in torch when it is first used, it changes now.
        install_generation_tagging_init()
        self._hooks = sys.excepthook, sys.displayhook
        InteractiveShell.clear_instance()
        plain = {"colors": "nocolor", "xmode": "Minimal"}
        config = Config(HistoryManager={"enabled": False}, InteractiveShell=plain)
        self.shell = InteractiveShell.instance(config=config)
        if hasattr(self.shell.magics_manager, "load_all_lazy_magics"):
            self.shell.magics_manager.load_all_lazy_magics()
        self._restore = _keep(self.shell)
        # What is there now is never garbage, so that collecting a case's is quick.
        gc.collect()
        gc.freeze()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """End the shell."""
        gc.unfreeze()
        self.shell.restore_sys_module_state()
        type(self.shell).clear_instance()
        sys.excepthook, sys.displayhook = self._hooks

    def run(
        self,
        cells: Iterable[Cell],
        check: str = "",
        then: Callable[[dict[str, Any]], None] | None = None,
    ) -> Ran:
        """Run cells as a notebook does; a cell that raises does not keep the next from running.

        Parameters
        ----------
        check : str, optional
            Code to run in the namespace that they leave; what it raises, this raises.
        then : callable, optional
            Is given that namespace.
        """
        ran = Ran()
        sink = io.StringIO()
        modules = len(sys.modules)
        with (
            _fresh_torch(),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(sink),
            contextlib.redirect_stderr(sink),
        ):
            try:
                self._load()
                told = len(sink.getvalue())
                numbers: list[int] = []
                for cell in cells:
                    numbers.append(cell.number)
                    self._run_cell(cell, ran, numbers)
                lines = sink.getvalue()[told:].split("\n")
                ran.notes += [line for line in lines if line.startswith(_NOTE)]
                torch.set_grad_enabled(True)
                if check:
                    exec(compile(check, "<check>", "exec"), self.shell.user_ns)
                if then is not None:
                    then(self.shell.user_ns)
            finally:
                self._clean()
        if len(sys.modules) > modules:
            gc.freeze()  # what was imported stays, too
        return ran

    def _load(self) -> None:
        if not self.traced:
            return
        self.shell.extension_manager.load_extension("leafmagic")
        self.shell.magics_manager.registry["LeafMagic"].mode = "off"
        self.shell.run_line_magic("autograd", "on")

    def _run_cell(self, cell: Cell, ran: Ran, numbers: list[int]) -> None:
        import leafmagic
        from leafmagic.session import SESSION

        before = leafmagic.last() if self.traced else None
        traces = SESSION.run if self.traced else 0
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            torch.autograd.set_detect_anomaly(self.anomaly)
            warned.clear()
            result = self.shell.run_cell(cell.source, store_history=True)
            torch.autograd.set_detect_anomaly(False)
        error = result.error_before_exec or result.error_in_exec
        if error is not None:
            ran.raised.append(type(error).__name__)
            ran.said.append(str(error))
            ran.points |= self._innermost(error.__traceback__, numbers)
        for warning in warned:
            ran.said.append(str(warning.message))
            ran.points |= self._in_cell(warning.filename, warning.lineno, numbers)
            lines = [
                self._in_cell(m["name"], int(m["line"]), numbers)
                for m in _FORWARD.finditer(str(warning.message))
            ]
            ran.points |= next((spot for spot in reversed(lines) if spot), set())
        trace = leafmagic.last() if self.traced else None
        if trace is None or trace is before:
            # A cell that does nothing with torch is traced, and not the last trace.
            if self.traced and result.error_before_exec is None and SESSION.run == traces:
                ran.notes.append("a cell was not traced")
            return
        for finding in trace.findings:
            label = _LABEL.search(finding.cell or "")
            number = numbers[int(label[1]) - 1] if label else cell.number
            spot = None if finding.line is None else Spot(number, finding.line)
            ran.found.append(Found(finding, spot))
        ran.notes += trace.document()["status"]["notes"]

    def _in_cell(self, filename: str, line: int, numbers: list[int]) -> set[Spot]:
        found = self.shell.compile.format_code_name(filename)
        label = _LABEL.search(" ".join(found)) if found else None
        return {Spot(numbers[int(label[1]) - 1], line)} if label else set()

    def _innermost(self, step: TracebackType | None, numbers: list[int]) -> set[Spot]:
        spot: set[Spot] = set()
        while step is not None:
            name = step.tb_frame.f_code.co_filename
            spot = self._in_cell(name, step.tb_lineno, numbers) or spot
            step = step.tb_next
        return spot

    def _clean(self) -> None:
        """Take away all that a case left in the shell and in the process."""
        shell = self.shell
        if self.traced:
            from leafmagic import recording
            from leafmagic.session import SESSION

            SESSION.reset()
            if "leafmagic" in shell.extension_manager.loaded:
                shell.extension_manager.unload_extension("leafmagic")
            recording.NEWEST.clear()
        self._restore()
        for name in _LAST:
            if hasattr(sys, name):
                delattr(sys, name)
        for handler in (shell.InteractiveTB, shell.SyntaxTB):
            handler.tb = handler.value = handler.etype = None
        shell._last_traceback = None
        shell.reset(new_session=True)
        shell.compile._filename_map.clear()
        for name in [name for name in linecache.cache if name.startswith("<ipython-input")]:
            del linecache.cache[name]
        torch.compiler.reset()


def _keep(shell: Any) -> Callable[[], None]:
    """Note what a case can register in a shell; return what puts it back."""
    manager = shell.magics_manager
    tables = [*manager.magics.values(), manager.registry, shell.display_formatter.formatters]
    lists = [
        *shell.events.callbacks.values(),
        shell.input_transformers_cleanup,
        shell.input_transformers_post,
        shell.ast_transformers,
    ]
    kept = [(table, dict(table)) for table in tables]
    kept_lists = [(found, list(found)) for found in lists]

    def restore() -> None:
        for table, was in kept:
            if table != was:
                table.clear()
                table.update(was)
        for found, had in kept_lists:
            found[:] = had

    return restore


@contextlib.contextmanager
def _fresh_torch() -> Iterator[None]:
    """Begin with fixed seeds, and put torch back as it was."""
    random.seed(0)
    torch.manual_seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    tables = [
        table
        for home in (torch_module, torch_optimizer)
        for name, table in vars(home).items()
        if name.startswith("_global_") and isinstance(table, dict)
    ]
    kept = [(table, dict(table)) for table in tables]
    depth = torch._C._len_torch_function_stack()
    dtype, always = torch.get_default_dtype(), torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        yield
    finally:
        gc.collect()
        torch.set_warn_always(always)
        torch.set_grad_enabled(True)
        torch.set_default_dtype(dtype)
        torch.autograd.set_detect_anomaly(False)
        torch.use_deterministic_algorithms(False)
        while torch._C._len_torch_function_stack() > depth:
            torch._C._pop_torch_function_stack()
        while torch._C._autograd._top_saved_tensors_default_hooks(True) is not None:
            torch._C._autograd._pop_saved_tensors_default_hooks()
        for table, was in kept:
            if table != was:
                table.clear()
                table.update(was)

"""Begin and end a trace around the cell that IPython is running.

A traced cell is an ordinary cell whose first line is one call (see
`leafmagic.extension`). That call comes to `CellRunner.begin`; IPython's own events
tell when the cell has ended, whichever way it ended.
"""

from __future__ import annotations

import asyncio
import linecache
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from leafmagic.cell import CellSource
from leafmagic.celltext import (
    describe_traced,
    describe_whole,
    label_of,
    lend_lines,
    measures,
    only_asks,
)
from leafmagic.errors import StrictError
from leafmagic.guard import TracebackHook, guarded, note
from leafmagic.options import Options
from leafmagic.recording import NEWEST, Trace, forget
from leafmagic.screen import WarmUp

if TYPE_CHECKING:
    from leafmagic.tracing import Tracer


@dataclass(eq=False, slots=True)
class Execution:
    """One call of ``run_cell`` that has begun and not ended."""

    info: Any = None
    """IPython's ``ExecutionInfo``; None for a silent execution."""
    number: int = 0
    run: Run | None = None


@dataclass(eq=False, slots=True)
class Run:
    """One traced cell."""

    trace: Tracer
    label: str
    options: Options
    screen: Any = None
    hook: TracebackHook | None = None
    error: BaseException | None = None
    automatic: bool = False
    warned: bool = False
    into: str = ""
    """The name to bind to the trace in the end, if it saw anything."""
    bound: Any = None
    """What that name stood for in the beginning."""
    before: list[Trace] = field(default_factory=list)
    """The newest trace when this one began."""
    lent: tuple[str, Any] | None = None
    """A file name that has lines in `linecache` for this run only, and the entry of ours."""
    asked: tuple[str, ...] = ()
    """Names that the cell itself asks to retain."""
    nested: dict[str, str] = field(default_factory=dict)
    """What to call code that the cell hands to the shell as a cell of its own, by file name."""

    def explain(self, error: BaseException) -> None:
        """Let the trace add its note to an exception before it is shown."""
        self.error = error
        self.trace.explain(error)


class CellRunner:
    """Begins and ends traces for one shell.

    Parameters
    ----------
    shell : InteractiveShell
    always : callable
        Returns the options of always-on mode and the name to bind, or None while it is off.
    mode : callable
        Returns the mode of a traced cell that does not say its own.
    """

    def __init__(
        self,
        shell: Any,
        always: Callable[[], tuple[Options, str] | None],
        mode: Callable[[], str],
    ) -> None:
        self.shell = shell
        self.always = always
        self.mode = mode
        self.warm_up = WarmUp(shell)
        self.finished: Tracer | None = None
        """The last trace of a cell that ended and saw anything."""
        self._threads = threading.local()

    @property
    def stack(self) -> list[Execution]:
        """The executions that are open in this thread, outermost first."""
        try:
            stack: list[Execution] = self._threads.stack
        except AttributeError:
            stack = self._threads.stack = []
        return stack

    @property
    def current(self) -> Run | None:
        """The run that is open in this thread."""
        return next((e.run for e in reversed(self.stack) if e.run is not None), None)

    # IPython's events, in the order in which they fire.

    def pre_execute(self) -> None:
        """Note that an execution begins; silent ones fire no other event before."""
        self.stack.append(Execution())

    def pre_run_cell(self, info: Any) -> None:
        """Note what is executed, and begin the trace of always-on mode."""
        if not self.stack or self.stack[-1].info is not None:
            self.stack.append(Execution())
        execution = self.stack[-1]
        execution.info = info
        execution.number = self._number(info)
        if self.current is not None:
            with guarded("numbering a nested cell"):
                self._label_nested(self.current, execution)
        always, raw = self.always(), info.raw_cell or ""
        if always is None or self.current is not None or measures(raw) or only_asks(raw):
            return
        options, into = always
        with guarded("beginning the trace"):
            source = describe_whole(self.shell, info, execution.number)
            self._start(execution, options, source, into=into, automatic=True)

    def post_execute(self) -> None:
        """End a silent execution; the others end in `post_run_cell`."""
        if self.stack and self.stack[-1].info is None:
            self._end(self.stack.pop(), None)

    def post_run_cell(self, result: Any) -> None:
        """End the execution that `result` belongs to."""
        info = getattr(result, "info", None)
        index = self._index(info)
        while index is not None and len(self.stack) > index:
            self._end(self.stack.pop(), result if len(self.stack) == index else None)
        if not self.stack:
            # Also after the cell that loaded the extension, whose beginning was not seen.
            with guarded("warming up"):
                self.warm_up.start(self.mode())

    def _index(self, info: Any) -> int | None:
        stack = self.stack
        if info is None:
            return len(stack) - 1 if stack else None
        raw = info.raw_cell or ""
        for same in (lambda i: i is info, lambda i: raw.strip() and i.raw_cell == raw):
            # An empty cell fires no event before it and must not end one around it; a
            # runner that broke off makes a new info for the same text.
            for index in range(len(stack) - 1, -1, -1):
                if stack[index].info is not None and same(stack[index].info):
                    return index
        return None

    # Begin and end.

    def begin(
        self,
        line: str,
        options: Options,
        into: str,
        filename: str | None,
        asked: tuple[str, ...] = (),
    ) -> None:
        """Begin the trace of the cell whose first line is being run."""
        if not self.stack:
            note("no cell is running here, so nothing is traced")
            return
        around = self.current
        if around is not None and around.automatic:
            self._discard(around)
            into = into or (self.always() or (None, ""))[1]
        elif around is not None:
            if not around.warned:
                note("this cell is inside a traced one already; the outer trace covers it")
            around.warned = True
            return
        execution = self.stack[-1]
        with guarded("beginning the trace"):
            raw = getattr(execution.info, "raw_cell", None) or ""
            number = execution.number or self.shell.execution_count
            source = describe_traced(raw, f"%%{line}".rstrip(), number, filename)
            self._start(execution, options, source, into=into)
            if execution.run is not None:
                execution.run.asked = asked

    def run_nested(self, text: str) -> None:
        """Run a whole ``%%autograd`` cell from inside another cell, and fail with it.

        Raises
        ------
        UsageError
            If the cell cannot run nested.
        BaseException
            Whatever the cell raised; it is shown where it is caught, not here too.
        """
        __tracebackhide__ = True  # IPython leaves such frames out
        shell = self.shell
        cooked = shell.transform_cell(text)
        if ".begin(" not in cooked.partition("\n")[0]:
            raise UsageError("the cell is empty" if "\n" in text else "not a cell")
        if _loop_is_running() and shell.should_run_async(text, transformed_cell=cooked):
            raise UsageError("await works after %load_ext leafmagic; run the cell again now")
        shell.compile.ast_parse(cooked)
        muted = TracebackHook(shell, muted=True)
        try:
            result = shell.run_cell(text)
        finally:
            muted.remove()
        error = _error_of(result)
        if error is not None:
            raise error

    def end_all(self) -> None:
        """End every trace of this thread at once; the cells go on untraced."""
        for execution in reversed(self.stack):
            self._end(execution, None)

    def _start(
        self,
        execution: Execution,
        options: Options,
        source: CellSource,
        *,
        into: str = "",
        automatic: bool = False,
    ) -> None:
        self.warm_up.wait()
        from leafmagic.tracing import Tracer

        nested: dict[str, str] = {}

        def label(filename: str) -> str | None:
            return nested.get(filename) or label_of(shell, filename)

        shell = self.shell
        source = replace(source, id=getattr(execution.info, "cell_id", None) or "")
        trace = Tracer(options, cell=source, namespace=shell.user_ns, label=label)
        trace.shown, trace.automatic = options.mode != "off", automatic
        run = Run(trace, source.label, options, automatic=automatic, nested=nested)
        run.before = NEWEST[-1:]
        execution.run = run
        try:
            if into and automatic:
                run.into, run.bound = into, self.shell.user_ns.get(into)
            elif into:
                self.shell.user_ns[into] = trace
            run.lent = lend_lines(self.shell, source)
            run.hook = TracebackHook(self.shell, run.explain)
            with guarded("opening the display"):
                from leafmagic.screen import open_screen

                run.screen = open_screen(trace, options.mode, self.shell, quiet=automatic)
            trace.start()
        except BaseException:
            self._discard(run)
            raise

    def _discard(self, run: Run) -> None:
        """Take a run away without showing anything."""
        for execution in self.stack:
            if execution.run is run:
                execution.run = None
        with guarded("ending the trace"):
            _close(run)
            if run.screen is not None:
                run.screen.drop()

    def _end(self, execution: Execution, result: Any) -> None:
        run, execution.run = execution.run, None
        if run is None:
            return
        error = _error_of(result) or (run.error if result is None else None)
        with guarded("ending the trace"):
            _close(run, error)
            if not getattr(run.trace, "idle", False):
                self.finished = run.trace
                if run.into and self.shell.user_ns.get(run.into) is run.bound:
                    self.shell.user_ns[run.into] = run.trace
        if run.screen is not None:
            with guarded("the display"):
                run.screen.close()
        if run.asked and error is None:
            with guarded("looking for names to retain"):
                _say_unseen(run.trace, run.asked)
        if run.options.strict and result is not None and error is None:
            with guarded("the strict check"):
                self._fail(result, StrictError.from_findings(run.trace.findings, run.label))

    def _fail(self, result: Any, error: StrictError | None) -> None:
        """Make a cell that has already run count as failed, so that Run All stops."""
        if error is None:
            return
        result.error_in_exec = error
        self.shell.last_execution_succeeded = False
        self.shell.showtraceback((StrictError, error, None))

    def _label_nested(self, run: Run, execution: Execution) -> None:
        """Give code that a magic runs as a cell the number of the cell around it.

        IPython compiles it under the number of the next cell.
        """
        info = execution.info
        if getattr(info, "store_history", False):
            return
        raw = info.raw_cell
        cooked = getattr(info, "transformed_cell", None) or self.shell.transform_cell(raw)
        filename = self.shell.compile.get_code_name(raw, cooked, self.shell.execution_count)
        around = next((e.info for e in reversed(self.stack[:-1]) if e.info is not None), None)
        part = _part_of_cell(getattr(around, "raw_cell", None) or "", raw)
        run.nested[filename] = f"Cell In[{execution.number}] {part}"

    def _number(self, info: Any) -> int:
        """Return ``n`` of the ``In[n]`` that the notebook shows beside the cell."""
        for around in reversed(self.stack[:-1]):
            # A nested run_cell is compiled under a number that no cell has.
            if getattr(around.info, "store_history", False):
                return around.number
        shown: int = self.shell.execution_count
        if getattr(info, "store_history", False):
            # IPython 9 counts up before the cell runs, 8 after it; the number of the
            # output prompt is right in both.
            shown = self.shell.displayhook.prompt_count
        return shown


def _close(run: Run, error: BaseException | None = None) -> None:
    """Stop tracing and undo what the run put into the shell, come what may."""
    try:
        run.trace.stop(error)
    except KeyboardInterrupt:
        run.trace.stop(error)
        raise
    finally:
        if run.automatic and getattr(run.trace, "idle", False):
            forget(run.trace, run.before)
        if run.hook is not None:
            run.hook.remove()
        # IPython may have put an entry of its own there since, when it compiled the cell.
        if run.lent is not None and linecache.cache.get(run.lent[0]) is run.lent[1]:
            linecache.cache.pop(run.lent[0])


def _say_unseen(trace: Tracer, names: tuple[str, ...]) -> None:
    """Say for which names nothing was retained, as a rule because no tensor had them."""
    model = trace.model
    known = {name for _, name in model.history} | {record.hint for record in model.slots.records}
    unseen = [name for name in dict.fromkeys(names) if name not in known]
    if unseen:
        note(f"--retain {', '.join(unseen)}: no tensor had that name")
    missed = trace.retainer.missed(name for name in names if name not in unseen)
    if missed:
        note(f"--retain: {missed}")


def _part_of_cell(around: str, raw: str) -> str:
    """Say which part of a cell runs as a cell of its own, with lines that count from there."""
    body = raw.strip()
    if not body or not around.rstrip().endswith(body):
        return "<nested>"
    above = around.rstrip()[: -len(body)].split("\n")
    magics = [line.split()[0] for line in above if line.startswith("%%")]
    return f"<below {magics[-1]}>" if magics else "<nested>"


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _error_of(result: Any) -> BaseException | None:
    if result is None:
        return None
    error: BaseException | None = result.error_before_exec or result.error_in_exec
    return error

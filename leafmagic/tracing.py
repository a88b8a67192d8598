"""Recording: install, fold, judge, remove."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from leafmagic import names
from leafmagic.build import build_graph
from leafmagic.carry import fetch, leave
from leafmagic.cell import CellSource
from leafmagic.documents import document_of, training_in
from leafmagic.errors import StrictError
from leafmagic.events import OpRepeated
from leafmagic.findings import KINDS, RULES, Finding, Findings
from leafmagic.graph import AutogradGraph
from leafmagic.histories import histories_of
from leafmagic.holders import kept_events
from leafmagic.hooked import overwriting
from leafmagic.looks import Finished, Owned, told
from leafmagic.model import Model
from leafmagic.options import Options
from leafmagic.owners import ParameterPaths, owned_events
from leafmagic.progress import Loop, left, loops_around
from leafmagic.recorder import Recorder
from leafmagic.recording import NEWEST, Trace
from leafmagic.retaining import Retainer
from leafmagic.session import SESSION
from leafmagic.sites import Sites
from leafmagic.states import read_states
from leafmagic.tracebacks import explain_error, raised, splice
from leafmagic.watchdog import Watchdog
from leafmagic.wording import source_read

_FULL, _OVERFULL = 256, 65_536
_STOPPED = "leafmagic stopped recording"
_REFRESH_S = 0.1
_SHARE = 100
_UNFILLED = {"nonleaf_grad_read", "hidden_leaf", "leaf_rebound", "LM101", "LM102", "LM103"}


class Tracer(Trace):
    """Records what autograd does, from `start` to `stop`; holds numbers and text, no tensor.

    Parameters
    ----------
    options : Options, optional
    cell : CellSource, optional
        The cell that is traced.
    namespace : dict, optional
        Where the variables live; the caller's globals if left out.
    label : callable, optional
        From a ``co_filename`` to what the reader calls it; None for "do not know".

    Attributes
    ----------
    model : Model
        What the events add up to.
    sites : Sites
        Every place in the code that was met.
    meter : Meter
        What measures gradients.
    retainer : Retainer
        What keeps gradients by name.
    loops : tuple of Loop
        The loops that run, the outermost first.
    shown : bool
        Whether the findings will be shown; to be said before it starts.
    """

    def __init__(
        self,
        options: Options | None = None,
        *,
        cell: CellSource | None = None,
        namespace: dict[str, Any] | None = None,
        label: Callable[[str], str | None] | None = None,
    ) -> None:
        self.options = options or Options()
        unknown = set(self.options.ignore) - {*KINDS, *(rule.code for rule in RULES)}
        if unknown:
            raise ValueError(f"no kind of finding is called {', '.join(sorted(unknown))}")
        self.cell, self._filename = cell, None if cell is None else cell.filename
        self.shown = self.running = False
        self._namespace = namespace
        self._lock = threading.RLock()
        self.sites = Sites([cell] if cell is not None else [], label)
        self.model = Model(self.sites.place)
        self._rules = Findings(self.model, self.options.ignore)
        self._recorder = Recorder(self.sites, self._arrive, self._settled)
        self._recorder.ops.on_parameters = self._parameters
        self._recorder.passes.watching = self.options.grads != "off"
        watchdog = Watchdog(self._recorder.log, lambda: self._namespace or {})
        self._recorder.passes.on_passed = watchdog.passed
        self.meter = self._recorder.passes.meter
        self.meter.set(self.options)
        self.loops: tuple[Loop, ...] = ()
        self._recorder.ops.on_overwritten = self._overwritten
        self._recorder.accesses.on_unfilled = self._recorder.on_refused_copy = self._own
        self._log, ledger = self._recorder.log, self._recorder.ledger
        self.retainer = Retainer(self.sites, ledger, self._log, self.options.retain)
        self._watch = names.NameWatch(self.sites, ledger, self._log, self.retainer)
        if self.options.retain:
            self._recorder.ops.on_output = self.retainer.output
        self._built: tuple[tuple[int, str], AutogradGraph] | None = None
        self._explained: set[int] = set()
        self._paths = ParameterPaths(self.sites, lambda: self._namespace or {})
        self._notes: list[str] = []
        self._began = self._ended = self._own_s = self._refreshed = self._refresh_cost = 0.0
        self._looked, self._looked_in, self._entered = 0.0, 0, 0

    def __enter__(self) -> Tracer:
        """Start, with the caller's globals as the namespace."""
        if self._namespace is None:
            self._namespace = names.caller_namespace()
        self._entered = sys._getframe(1).f_lineno
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        """Stop; add what is known about the error to it.

        Raises
        ------
        StrictError
            With ``strict=True``, if there are errors or warnings and the code did not
            raise by itself.
        """
        self.stop(error)
        if error is None and self.options.strict:
            strict = StrictError.from_findings(self.findings, "the traced code")
            if strict is not None:
                raise strict

    def start(self) -> None:
        """Install the recorder. Does nothing while it is running."""
        if self.running:
            return
        self._began = started = time.perf_counter()
        self.running = True
        NEWEST[:] = [*NEWEST[-1:], self]
        cell = self.cell or CellSource("", "")
        text = cell.text
        self.model.run = SESSION.begin(cell.label, text, cell.id)
        try:
            with torch._C.DisableTorchFunction():
                fetch(self.model, SESSION, self._recorder.memory)
                self._watch.start(self._namespace or {}, text)
        except Exception as ours:
            self._note(ours)
        self._recorder.accesses.telling = self.shown and not _UNFILLED & {*self.options.ignore}
        self._own_s += time.perf_counter() - started
        self.retainer.start()
        self._recorder.install(self._namespace)

    def stop(self, error: BaseException | None = None) -> None:
        """Remove everything that was installed and take the final state.

        Parameters
        ----------
        error : BaseException, optional
            What the traced code raised. Gets our explanation as a note (PEP 678), and
            our own frames are taken out of its traceback.
        """
        if not self.running:
            # A stop in the midst of an op (in a hook) leaves the mode where torch had put
            # it aside; the next one takes it away.
            self._recorder.remove()
            return
        self.running = False
        self._recorder.remove()
        started = self._ended = time.perf_counter()
        on = torch.is_grad_enabled()
        try:
            if error is not None:  # first, as in a shell: what was refused did not happen
                self.explain(error)
            with torch._C.DisableTorchFunction(), torch.no_grad():
                self._finish(on=on)
            if error is None:
                self.model.error = ""  # of what the code caught, or of a cell inside this one
        except Exception as ours:
            self._note(ours)
        finally:
            self._notes += self.retainer.finish(tell=self._entered > 0 and error is None)
        self._own_s += time.perf_counter() - started
        self._namespace = None
        if NEWEST[-1:] == [self]:
            del NEWEST[:-1]

    def adopt(self, tensors: tuple[Tensor, ...]) -> None:
        """Take in tensors that exist, with the names that the namespace has for them."""
        ledger, namespace = self._recorder.ledger, self._namespace or {}
        self._log.extend(names.adopted(tensors, namespace, ledger, self._log.next_ordinal))
        self._refresh(final=True)
        self.drain()

    def _finish(self, *, on: bool) -> None:
        namespace = self._namespace or {}
        recorder, ordinal = self._recorder, self._log.next_ordinal
        self._look_at_names()
        if self.cell is not None:
            # Not what was typed, which may hold magics, but what was compiled.
            text = self.sites.text(self.cell.filename or "") or self.cell.text
            label = self.cell.label
            read = source_read(ordinal, self.cell, self.sites, namespace, self._entered)
            self._log.extend([*self._watch.stray_attributes(text, label, namespace), *read])
        failed = bool(self.model.error)
        self.meter.flush()
        self._log.extend(kept_events(namespace, ordinal, self.cell, failed=failed))
        self._log.emit(Finished(ordinal()))
        self._refresh(final=True)
        self.drain()
        if recorder.failure is not None:
            self._say(f"{_STOPPED}: {recorder.failure}")
        leave(self.model, recorder.ledger, recorder.memory, on=on)

    def _own(self) -> None:
        """Name what modules and containers hold, before an error is explained."""
        ledger, ordinal = self._recorder.ledger, self._log.next_ordinal
        self._log.extend(owned_events(self._namespace or {}, ledger, ordinal))

    def _look_at_names(self) -> None:
        self._watch.finish(self._namespace or {}, self._filename)

    def _arrive(self, frame: FrameType, statement: int) -> None:
        self._watch.arrive(frame, statement)
        if self._recorder.memory.aliases:
            self._recorder.memory.compare(frame.f_lineno)
        self._ease()

    def _ease(self) -> None:
        """Fold what waits, unless a large graph is just being built; then rather let it wait."""
        waiting = len(self._log)
        if waiting >= _FULL and self._lock.acquire(blocking=waiting >= _OVERFULL):
            try:
                self.drain()
            finally:
                self._lock.release()

    def _settled(self, error: BaseException | None) -> None:
        """Look again after a backward pass; explain an error at once."""
        now = time.perf_counter()
        if error is not None or now - self._looked > _REFRESH_S:
            self._looked, self._looked_in = now, self.meter.passes
            self.loops = loops_around(sys._getframe(1), self._filename)
        if error is not None:
            self._annotate(error)
            return
        due = now - self._refreshed > max(_REFRESH_S, _SHARE * self._refresh_cost)
        due = due and not torch._C._autograd._profiler_enabled()  # it would count our ops
        if self.options.grads != "off" and due:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                self._refresh(final=False)
        self._ease()

    def _parameters(self, frame: FrameType | None, new: list[tuple[int, Tensor]]) -> bool:
        """Name parameters where they are first used; tell whether all have a name now."""
        found = self._paths.find(frame, new)
        for tid, path in found:
            self._log.emit(Owned(self._log.next_ordinal(), path, tid, True))
        return len(found) == len(new)

    def _overwritten(self, frame: FrameType | None, site: int, tensor: Tensor) -> None:
        """Report a module with forward hooks that wrote to its input."""
        found = overwriting(self.sites, frame, site, tensor, self._log.next_ordinal)
        if found is not None:
            self._log.emit(found)

    def _refresh(self, *, final: bool) -> None:
        """Read the state of the tensors that live; on the thread that runs the code."""
        started = time.perf_counter()
        ledger, ordinal = self._recorder.ledger, self._log.next_ordinal
        measured = self.options.grads != "off"
        with _disable_current_modes():
            self._log.extend(read_states(ledger, ordinal, final=final, measured=measured))
        label = self.sites.label if final else None
        for found in owned_events(self._namespace or {}, ledger, ordinal, label):
            self._log.emit(found)
        self._refreshed = time.perf_counter()
        self._refresh_cost = self._refreshed - started
        if not final:
            self._own_s += self._refresh_cost

    def explain(self, error: BaseException) -> None:
        """Add what is known about an error to it, and take our frames out of it.

        Does so once for each error, however often it is called.
        """
        splice(error)
        self.model.error = told(type(error).__name__, str(error).partition("\n")[0])
        if id(error) not in self._explained or self._looked_in != self.meter.passes:
            self.loops = left(self.loops)
        if id(error) in self._explained:
            return
        if self.running:
            with torch._C.DisableTorchFunction():
                self._look_at_names()
        self._own()
        ordinal, site = self._log.next_ordinal(), self.sites.innermost(error.__traceback__)
        self._log.emit(raised(ordinal, site, error, self.sites.label))
        self._annotate(error)

    def _annotate(self, error: BaseException) -> None:
        """Add what the rules made of the error just recorded, whichever thread asked them."""
        self.drain()
        found = self._rules.raised
        # The id is enough: the error is alive as long as it is on its way to the user,
        # and keeping it would keep its frames.
        self._explained.add(id(error))
        explain_error(error, found)

    def _note(self, error: BaseException) -> None:
        if not any(known.startswith(_STOPPED) for known in self._notes):
            self._say(f"{_STOPPED}: {type(error).__name__}: {error}")

    def _say(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def drain(self) -> list[Finding]:
        """Fold what was recorded; return what the rules found in it. From any thread."""
        found: list[Finding] = []
        with self._lock:
            taken = self._log.take()
            repeated = self.model.repeated
            for event in taken:
                try:
                    if type(event) is OpRepeated:
                        repeated(event)
                    else:
                        self.model.feed(event)
                        found.extend(self._rules.feed(event))
                except Exception as ours:
                    self._note(ours)
            self.model.seen += len(taken)
            for code, failure in self._rules.failures.items():
                self._say(f"leafmagic's rule {code} failed: {failure}")
        return found

    @property
    def revision(self) -> int:
        """A number that grows when there is something new to draw."""
        return self._log.ordinal + (0 if self.running else 1)

    @property
    def graph(self) -> AutogradGraph:
        """The autograd graph as of now."""
        with self._lock:
            self.drain()
            state = self.model.seen, self.model.error
            if self._built is None or self._built[0] != state:
                try:
                    self._built = (state, build_graph(self.model))
                except Exception as ours:
                    self._note(ours)
                    self._built = (state, AutogradGraph())
            return self._built[1]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, ordered by line."""
        with self._lock:
            self.drain()
            try:
                return self._rules.ordered()
            except Exception as ours:
                self._note(ours)
                return ()

    def histories(self) -> dict[str, Any]:
        """Return all that is kept of the steps of a loop. From any thread."""
        with self._lock:
            self.drain()
            return histories_of(self.model)

    @property
    def duration(self) -> float:
        """How many seconds the traced code ran, so far or in all."""
        return (self._ended or time.perf_counter()) - self._began if self._began else 0.0

    def document(self) -> dict[str, Any]:
        """Return everything as JSON-ready values. From any thread; asks torch nothing."""
        with self._lock:
            graph, findings = self.graph, self.findings
            training = training_in(self, graph, self._note)
            own = self._own_s + self._recorder.seconds + self.meter.seconds
            stopped = [] if self._recorder.failure is None else [_STOPPED]
            notes, cut = self._notes or stopped, self._recorder.ops.full
            return document_of(self, graph, findings, training, notes, own, cut=cut)

"""Show a trace while its cell runs.

A background thread takes what is new from the trace, at most ten times a second and
never for more than a twentieth of the time, and sends it to the page. The thread never
touches a tensor and ends with the display.
"""

from __future__ import annotations

import collections
import contextvars
import html
import secrets
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

Payload = dict[str, Any]
Bundle = dict[str, Any]

INTERVAL_S = 0.1
"""The shortest time between two updates."""

COST_FACTOR = 20
"""After an update that took t seconds, nothing is done for 20 t: a share below 5 %."""

FIRST_FULL_S = 0.3
LAST_FULL_S = 30.0
"""A page may have missed a batch, most of all the first ones while it was still loading
the module. So the whole is sent now and then: soon at first, then ever more rarely."""


_HIDE_DEAD_WIDGET = (
    "<style>.jp-OutputArea-child:not(:has(section.lm)):has(+ .jp-OutputArea-child "
    ".lm-twin-{id}){{display:none}}</style>"
)
"""In a notebook that is opened without its kernel, JupyterLab writes "model not found"
where the widget was. The twin stands right below it, and says more."""


MAX_OPEN = 32
"""So many widgets stay alive in a kernel. Of older ones the page shows the twin, so that
a long session does not keep every graph it ever drew in memory."""

_open: collections.deque[Any] = collections.deque()


class DocumentSource(Protocol):
    """What is shown; `leafmagic.tracing.Trace` is one."""

    @property
    def revision(self) -> int:
        """A number that grows when there is something new to draw."""

    def document(self) -> Payload:
        """Return the document; called from another thread, so it must be safe to."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The pure functions a display needs, so that a test can bring its own."""

    build: Callable[[Payload], Payload]
    twin: Callable[[Payload, str], str]
    text: Callable[[Payload], str]

    @classmethod
    def standard(cls) -> Drawing:
        """Return leafmagic's own; what they need is imported at their first use."""
        return cls(_build, _twin, _text)


def _build(document: Payload) -> Payload:
    from leafmagic.render.payload import build_payload

    return build_payload(document)


def _twin(payload: Payload, twin_id: str) -> str:
    from leafmagic.render.html import render_twin

    return render_twin(payload, twin_id)


def _text(payload: Payload) -> str:
    from leafmagic.render.text import render_text

    return render_text(payload)


def import_twin() -> None:
    """Import what the static twin is drawn with; it takes longer than drawing it."""
    import leafmagic.render.html
    import leafmagic.render.text  # noqa: F401


def _publish(bundle: Bundle, display_id: str, update: bool) -> None:
    from IPython.display import display

    display(bundle, raw=True, display_id=display_id, update=update)


class LiveDisplay:
    """The output of a traced cell, from before its first line until after its last.

    Made, it is on the screen at once, and its thread runs until `close` or `drop`.
    Nothing that goes wrong in here reaches the caller: it becomes one short note.

    Parameters
    ----------
    source : DocumentSource
        What to show.
    mode : {"widget", "html"}
        ``widget`` sends batches to a live widget and keeps a static twin for the day
        when the notebook has no kernel. ``html`` only refreshes the static picture.
    quiet : bool
        Show nothing until there is a node, a finding or a note; possibly never.
    drawing : Drawing, optional
        How to draw; leafmagic's own renderers by default.
    publish : callable, optional
        Called as ``publish(bundle, display_id, update)``; IPython's display by default.
    widget : callable, optional
        Called as ``widget(payload=..., twin_id=...)``; `GraphWidget` by default.

    Attributes
    ----------
    twin_id : str
        Identifies the static twin: ``<div class="lm-twin lm-twin-ID">``.
    cost_s : float
        CPU seconds spent so far in this display.
    note : str
        What went wrong in here; empty if nothing did.
    """

    def __init__(
        self,
        source: DocumentSource,
        *,
        mode: Literal["widget", "html"] | str = "widget",
        quiet: bool = False,
        drawing: Drawing | None = None,
        publish: Callable[[Bundle, str, bool], None] = _publish,
        widget: Callable[..., Any] | None = None,
    ) -> None:
        self.twin_id = secrets.token_hex(6)
        self.cost_s = 0.0
        self.note = ""
        self.widget: Any = None
        self._source = source
        self._mode = mode
        self._drawing = drawing
        self._publish = publish
        self._make_widget = widget
        self._shown = False
        self._sent: Payload = {}
        self._seq = 0
        self._revision = -1
        self._next_full = 0.0
        self._full_gap_s = FIRST_FULL_S
        self._owes_full = False
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        if not quiet:
            self._try(self._show)
        self._start_thread()

    def close(self) -> None:
        """Stop the thread and show the final state, whole. Safe to call twice."""
        if self._stop_thread() and not self._try(self._show_final):
            self._try(self._leave_ended)

    finish = close

    def drop(self) -> None:
        """Stop the thread and take away what was shown. Safe to call twice."""
        if self._stop_thread() and self._shown:
            self._try(self._take_away)

    # The thread.

    def _start_thread(self) -> None:
        # The context tells IPython which cell's output this is.
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._loop,), name="leafmagic-live", daemon=True
        )
        self._thread.start()

    def _stop_thread(self) -> bool:
        """Return False if it was stopped before."""
        if self._ended.is_set():
            return False
        self._ended.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        return True

    def _loop(self) -> None:
        wait_s = INTERVAL_S / 2  # the first thing worth seeing comes soon
        imported = self._mode != "widget"
        while not self._ended.wait(wait_s):
            begin = time.thread_time()
            well = self._try(self._update)
            cost_s = time.thread_time() - begin
            self.cost_s += cost_s
            if not well:
                return
            if not imported and self._shown:
                # Once in a kernel's life, and no work of this trace: not in its cost.
                imported = self._try(import_twin)
            wait_s = max(INTERVAL_S, COST_FACTOR * cost_s)

    def _try(self, step: Callable[[], None]) -> bool:
        """Run `step`; return whether it went well."""
        try:
            step()
            return True
        except Exception as error:
            said = str(error).strip().partition("\n")[0]
            self._fail(f"drawing failed ({type(error).__name__}: {said}); the cell is not affected")
            return False

    def _fail(self, note: str) -> None:
        """Say it once, where the reader looks: in the widget, or else in one line."""
        if self.note:
            return
        self.note = note
        try:
            if self.widget is None:
                raise RuntimeError("there is no widget to say it in")
            self._send({**self._sent, "status": self._noted(self._sent.get("status", {}))})
        except Exception:
            sys.stderr.write(f"leafmagic: {note}\n")

    def _noted(self, status: Mapping[str, Any]) -> Payload:
        notes = list(status.get("notes", ()))
        if self.note and self.note not in notes:
            notes.append(self.note)
        return {**status, "notes": notes}

    # What it shows.

    def _payload(self) -> Payload:
        if self._drawing is None:
            self._drawing = Drawing.standard()
        document = self._source.document()
        status = document.get("status", {})
        own = {"overhead_s": status.get("overhead_s", 0.0) + self.cost_s}
        return self._drawing.build({**document, "status": {**self._noted(status), **own}})

    def _bundle(self, payload: Payload) -> Bundle:
        assert self._drawing is not None  # noqa: S101  (set by _payload)
        twin = self._drawing.twin(payload, self.twin_id)
        hide = _HIDE_DEAD_WIDGET.format(id=self.twin_id) if self._mode == "widget" else ""
        return {
            "text/html": hide + twin,
            "text/plain": self._drawing.text(payload),
        }

    def _place(self, payload: Payload) -> Bundle:
        """Return what stands for the twin until the cell has ended."""
        label = str(payload.get("cell", {}).get("label") or "the cell")
        said = f"{label}: the graph is kept here when the cell has ended"
        hide = _HIDE_DEAD_WIDGET.format(id=self.twin_id)
        div = f'<div class="lm-twin lm-twin-{self.twin_id}">{html.escape(said)}</div>'
        return {"text/html": hide + div, "text/plain": said}

    def _show(self) -> None:
        """Put the widget on the screen, and below it the twin or its place."""
        self._revision = self._source.revision
        payload = self._payload()
        self._shown = True
        if self._mode == "widget":
            self._try(lambda: self._show_widget(payload))  # without it, the picture is live
        if self.widget is None or self._ended.is_set():
            self._publish(self._bundle(payload), self.twin_id, False)
        else:
            # The twin is seen only where the widget is not. To draw it now would keep the
            # cell waiting, but its place has to be taken before the cell prints anything.
            self._publish(self._place(payload), self.twin_id, False)

    def _show_widget(self, payload: Payload) -> None:
        from leafmagic.render.widget import GraphWidget, compact

        make = self._make_widget or GraphWidget
        self._sent = compact(payload)
        self.widget = make(payload=self._sent, twin_id=self.twin_id)
        self._publish(self.widget.bundle(), f"{self.twin_id}-live", False)
        _open.append(self.widget)
        while len(_open) > MAX_OPEN:
            _open.popleft().close()

    def _update(self) -> None:
        revision = self._source.revision
        if revision == self._revision:
            if self._owes_full and time.monotonic() >= self._next_full:
                self._send(self._sent)
            return
        if not self._shown:
            if _says_something(self._source.document()):
                self._show()
            return
        self._revision = revision
        payload = self._payload()
        if self.widget is None:
            self._publish(self._bundle(payload), self.twin_id, True)
        else:
            from leafmagic.render.widget import compact

            self._send(compact(payload))

    def _send(self, payload: Payload) -> None:
        from leafmagic.render.widget import diff

        now = time.monotonic()
        self._seq += 1
        if now >= self._next_full:
            message: Payload = {"type": "full", "payload": payload}
            self._next_full = now + self._full_gap_s
            self._full_gap_s = min(2 * self._full_gap_s, LAST_FULL_S)
            self._owes_full = False
        else:
            message = {"type": "batch", **diff(self._sent, payload)}
            self._owes_full = True
        self.widget.send({**message, "seq": self._seq})
        self._sent = payload

    def _show_final(self) -> None:
        if not self._shown:
            if _says_something(self._source.document()):
                self._show()
            return
        payload = self._payload()
        if self.widget is not None:
            from leafmagic.render.widget import compact

            self.widget.payload = self._sent = compact(payload)
        self._publish(self._bundle(payload), self.twin_id, True)

    def _leave_ended(self) -> None:
        """Where the final state could not be drawn, at least do not look busy for ever."""
        if self.widget is not None:
            status = self._noted(self._sent.get("status", {}))
            self.widget.payload = {**self._sent, "status": {**status, "running": False}}

    def _take_away(self) -> None:
        if self.widget is not None:
            self.widget.close()
        self._publish({"text/plain": ""}, self.twin_id, True)


def _says_something(document: Mapping[str, Any]) -> bool:
    status = document.get("status", {})
    return bool(document.get("nodes") or document.get("findings") or status.get("notes"))

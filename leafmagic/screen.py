"""Where a trace is shown: a notebook, a terminal, or nowhere."""

from __future__ import annotations

import importlib
import secrets
import shutil
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from leafmagic.guard import note

if TYPE_CHECKING:
    from leafmagic.tracing import Tracer as Trace


class Screen(Protocol):
    """What shows one trace."""

    def close(self) -> None:
        """Show the final state."""

    def drop(self) -> None:
        """Show nothing more."""


class Blank:
    """Mode ``off``: nothing is shown."""

    def close(self) -> None:
        """Do nothing."""

    def drop(self) -> None:
        """Do nothing."""


class TextScreen:
    """Prints the graph and the warnings once, at the end.

    Parameters
    ----------
    trace : Trace
    quiet : bool
        Print nothing for code that did nothing of interest to autograd.
    """

    def __init__(self, trace: Trace, *, quiet: bool = False) -> None:
        self.trace = trace
        self.quiet = quiet

    def close(self) -> None:
        """Print."""
        document = self.trace.document()
        if not (self.quiet and is_empty(document)):
            print_document(document)

    def drop(self) -> None:
        """Do nothing: nothing was shown yet."""


def is_empty(document: dict[str, Any]) -> bool:
    """Whether a trace saw nothing and has nothing to say."""
    status = document["status"]
    return not (document["nodes"] or document["findings"] or status["notes"])


def in_kernel(shell: Any) -> bool:
    """Whether the shell talks to a front end that can show more than text."""
    return getattr(shell, "kernel", None) is not None


def print_document(document: dict[str, Any]) -> None:
    """Print a trace's document as text."""
    from leafmagic.render.payload import build_payload
    from leafmagic.render.text import render_text

    width = max(60, min(120, shutil.get_terminal_size((100, 24)).columns))
    color = sys.stdout.isatty()
    print(render_text(build_payload(document), width=width, color=color))  # noqa: T201


def resolve_mode(mode: str, shell: Any) -> tuple[str, str]:
    """Return the mode that can be shown here, and a note where it is not the one asked for."""
    if mode in ("off", "text"):
        return mode, ""
    if not in_kernel(shell):
        return "text", ""
    if mode == "html":
        return mode, ""
    try:
        import anywidget  # noqa: F401
    except ImportError as error:
        return "html", f"no live widget here ({error}); showing a static picture instead"
    return "widget", ""


_FIRST_USE = (
    "leafmagic.tracing",
    "leafmagic.render.live",
    "leafmagic.render.widget",
    "leafmagic.render.payload",
    "leafmagic.render.html",
    "leafmagic.render.text",
)
"""What the first traced cell of a kernel needs, in the order it needs it."""


class WarmUp:
    """Imports in the background what the first traced cell would wait for, once.

    Only between the reader's cells, only once they use torch, and never torch itself.
    """

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.thread: threading.Thread | None = None

    def start(self, mode: str) -> None:
        """Begin, where it is of use; a second time changes nothing."""
        if self.thread is not None or "torch" not in sys.modules or not in_kernel(self.shell):
            return
        if mode in ("auto", "widget"):
            name = "leafmagic-warm-up"
            self.thread = threading.Thread(target=_import_all, name=name, daemon=True)
            self.thread.start()

    def wait(self) -> None:
        """Wait for the end: two threads that import the same only get in each other's way."""
        if self.thread is not None:
            self.thread.join()


def _import_all() -> None:
    for name in _FIRST_USE:
        # Who needs it will say what is wrong with it.
        with suppress(Exception):
            importlib.import_module(name)


def open_screen(trace: Trace, mode: str, shell: Any, *, quiet: bool = False) -> Screen:
    """Open what shows a trace while its cell runs.

    Parameters
    ----------
    trace : Trace
        Not started yet.
    mode : {"auto", "widget", "html", "text", "off"}
    shell : InteractiveShell
    quiet : bool
        Show nothing for a cell that did nothing of interest to autograd.
    """
    chosen, why = resolve_mode(mode, shell)
    if why:
        note(why)
    if chosen == "off":
        return Blank()
    if chosen == "text":
        return TextScreen(trace, quiet=quiet)
    from leafmagic.render.live import LiveDisplay

    return LiveDisplay(trace, mode=chosen, quiet=quiet)


def show_document(document: dict[str, Any], mode: str, shell: Any) -> None:
    """Show a finished trace or a graph, in one static piece."""
    chosen, _ = resolve_mode("html" if mode in ("auto", "widget") else mode, shell)
    if chosen == "off":
        return
    if chosen == "text":
        print_document(document)
        return
    from IPython.display import display

    from leafmagic.render.html import render_twin
    from leafmagic.render.payload import build_payload
    from leafmagic.render.text import render_text

    payload = build_payload(document)
    bundle = {
        "text/plain": render_text(payload),
        "text/html": render_twin(payload, secrets.token_hex(6)),
    }
    display(bundle, raw=True)

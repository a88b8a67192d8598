"""leafmagic shows autograd as it happens, in the words of the cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leafmagic.api import graph_of, trace
    from leafmagic.errors import StrictError
    from leafmagic.findings.base import Finding
    from leafmagic.graph import AutogradGraph
    from leafmagic.reasons import why
    from leafmagic.recording import Trace, last, load

__version__ = "0.1.0"
__all__ = [
    "AutogradGraph",
    "Finding",
    "StrictError",
    "Trace",
    "graph_of",
    "last",
    "load",
    "trace",
    "why",
]

_HOMES = {
    "AutogradGraph": "leafmagic.graph",
    "Finding": "leafmagic.findings.base",
    "StrictError": "leafmagic.errors",
    "Trace": "leafmagic.recording",
    "graph_of": "leafmagic.api",
    "last": "leafmagic.recording",
    "load": "leafmagic.recording",
    "trace": "leafmagic.api",
    "why": "leafmagic.reasons",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: torch takes seconds."""
    if name not in _HOMES:
        raise AttributeError(f"module 'leafmagic' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__})


def load_ipython_extension(ip: Any) -> None:
    """Load the extension (``%load_ext leafmagic``)."""
    from leafmagic.extension import load

    load(ip)


def unload_ipython_extension(ip: Any) -> None:
    """Take everything out of the shell again (``%unload_ext leafmagic``)."""
    from leafmagic.extension import unload

    unload(ip)

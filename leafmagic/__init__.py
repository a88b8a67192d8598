"""leafmagic shows autograd as it happens, in the words of the cell."""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


def load_ipython_extension(ip: Any) -> None:
    """Load the extension (``%load_ext leafmagic``)."""
    from leafmagic.extension import load

    load(ip)


def unload_ipython_extension(ip: Any) -> None:
    """Take everything out of the shell again (``%unload_ext leafmagic``)."""
    from leafmagic.extension import unload

    unload(ip)

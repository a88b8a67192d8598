"""What a trace can be asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Mode = Literal["auto", "widget", "html", "text", "off"]
Grads = Literal["auto", "norm", "off"]
MODES: tuple[str, ...] = get_args(Mode)
GRADS: tuple[str, ...] = get_args(Grads)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one trace.

    Attributes
    ----------
    mode : {"auto", "widget", "html", "text", "off"}
        What is shown. ``auto`` is the widget in a kernel and text in a terminal.
    strict : bool
        Whether errors and warnings fail the cell after it ran.
    ignore : tuple of str
        Kinds or codes of findings to leave out.
    retain : tuple of str
        Variables to call ``retain_grad()`` on as soon as they are non-leaves.
    grads : {"auto", "norm", "off"}
        Whether gradients are measured: in so many backward passes that `share` holds
        (``auto``), in every pass (``norm``), or never.
    share : float
        The percentage of the time that measuring takes at most with ``auto``.
    histogram : bool
        Whether the elements of gradients are counted by their power of ten, too.

    Raises
    ------
    TypeError
        If `ignore` or `retain` is one string.
    ValueError
        If `mode` or `grads` is none of the words above, or `share` is not above 0 and at
        most 100.
    """

    mode: Mode = "auto"
    strict: bool = False
    ignore: tuple[str, ...] = ()
    retain: tuple[str, ...] = ()
    grads: Grads = "auto"
    share: float = 2.0
    histogram: bool = False

    def __post_init__(self) -> None:
        for name in ("ignore", "retain"):
            if isinstance(getattr(self, name), str):
                raise TypeError(f"{name} takes several names, not one string")
        if self.mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        if self.grads not in GRADS:
            raise ValueError(f"grads must be one of {', '.join(GRADS)}, not {self.grads!r}")
        if not 0 < self.share <= 100:
            raise ValueError(f"share must be above 0 and at most 100, not {self.share!r}")

"""How every state looks: the one table that all renderers and the style sheet share.

The palette is Okabe and Ito's, which people with the common colour blindnesses can
tell apart. Colour never stands alone: shape, border and label say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Theme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class StateStyle:
    """The look of one state.

    Attributes
    ----------
    css : str
        Class name.
    tag : str
        The word on the border of the box.
    radius : int
        Corner radius in px; 0 is a sharp corner, 99 a pill.
    border : {"solid", "dashed", "dotted", "double"}
        How the border is drawn.
    border_px : float
        How thick.
    dash : str
        The SVG ``stroke-dasharray``, empty for a solid line.
    light, dark : str
        The border colour, at least 3:1 against the background.
    light_text, dark_text : str
        The tag's colour, at least 4.5:1 against the background.
    strike : bool
        Whether the name is struck through.
    """

    css: str
    tag: str
    radius: int
    border: Literal["solid", "dashed", "dotted", "double"]
    border_px: float
    dash: str
    light: str
    dark: str
    light_text: str
    dark_text: str
    strike: bool = False


_S = StateStyle
STATE_STYLES: dict[str, StateStyle] = {
    "leaf": _S("leaf", "leaf", 9, "solid", 2, "",
               "#009E73", "#009E73", "#00704F", "#3FCFA4"),
    "retained": _S("retained", "retained", 9, "double", 1.5, "",
                   "#0072B2", "#3B9BDB", "#005F96", "#7CC4F2"),
    "non-leaf": _S("nonleaf", "non-leaf", 3, "solid", 1, "",
                   "#767676", "#8F8F8F", "#5C5C5C", "#B4B4B4"),
    "frozen leaf": _S("frozen", "frozen leaf", 0, "solid", 1.5, "",
                      "#8A8A8A", "#8A8A8A", "#5C5C5C", "#B4B4B4"),
    "constant": _S("constant", "constant", 0, "dashed", 1.5, "6 4",
                   "#8A8A8A", "#8A8A8A", "#5C5C5C", "#B4B4B4"),
    "phantom leaf": _S("phantom", "phantom leaf", 9, "dashed", 2, "7 4",
                       "#D55E00", "#D55E00", "#A84A00", "#FF9A52"),
    "dead name": _S("dead", "dead name", 9, "dotted", 2, "0.1 4.5",
                    "#B85C93", "#CC79A7", "#8F3F6E", "#E3A3C6", strike=True),
    "op": _S("op", "op", 99, "solid", 1, "",
             "#767676", "#8F8F8F", "#5C5C5C", "#B4B4B4"),
}  # fmt: skip
"""A style for every key of `leafmagic.graph.STATES`, in legend order."""

SEVERITY_COLORS: dict[str, str] = {"error": "#D55E00", "warning": "#E69F00", "info": "#56B4E9"}
"""Fill of the "!" badge; its mark is `BADGE_TEXT`."""

BADGE_TEXT = "#000000"
GRAD_COLOR = "#E69F00"
HOOK_COLORS: dict[Theme, str] = {"light": "#5C5C5C", "dark": "#B4B4B4"}

THEMES: dict[Theme, dict[str, str]] = {
    "light": {
        "page": "#FFFFFF",
        "box": "#FFFFFF",
        "op": "#F3F3F3",
        "text": "#1A1A1A",
        "muted": "#555555",
        "edge": "#767676",
        "rule": "#D9D9D9",
    },
    "dark": {
        "page": "#181A1B",
        "box": "#212425",
        "op": "#2C3032",
        "text": "#F2F2F2",
        "muted": "#BDBDBD",
        "edge": "#909090",
        "rule": "#3F4446",
    },
}
"""Colours that belong to no state."""

EDGE_DASHES: dict[str, str] = {"next": "", "output": "", "data": "2 4", "base": "8 3", "cut": "5 4"}
"""The ``stroke-dasharray`` of every kind of edge."""

EDGE_WORDS: dict[str, str] = {
    "data": "gets no gradient",
    "base": "view of",
    "cut": "gradient stops here",
    "carried": "from an earlier step",
}
"""What the legend says of an edge that is not plain."""

LABEL_PX = 14
SUB_PX = 11
OP_PX = 12
TAG_PX = 10
CHAR_EM = 0.602
"""Width of a character of the monospaced fonts the boxes are set in, in em."""

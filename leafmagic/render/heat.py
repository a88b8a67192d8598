"""Gradient norms as colours, marks and small lines.

The scale runs from blue to yellow and grows steadily lighter, so it can be read with
every common colour blindness and in grey. Its two ends have a mark as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

VANISHING = 1e-6
EXPLODING = 1e3

HEAT: tuple[str, ...] = (
    "#2B4C9B",
    "#435C95",
    "#5A6C8F",
    "#727A84",
    "#8A8778",
    "#A59664",
    "#BFA54F",
    "#D8B83F",
    "#F0CB2E",
)
"""From the smallest norm to the greatest."""

SIGNS: dict[str, str] = {"vanishing": "▽", "exploding": "△", "nan": "nan", "inf": "inf"}
"""What stands on a box whose norm is beyond the scale."""

Scale = tuple[int, int]


def norm_of(node: Mapping[str, Any] | None) -> float | None:
    """Return the newest gradient norm of a node of a document, None if not measured."""
    stats = node.get("stats") if node else None
    return None if not stats or stats.get("norm") is None else float(stats["norm"])


def scale_of(nodes: Iterable[Mapping[str, Any]]) -> Scale | None:
    """Return the decades that the norms lie in, None where none was measured.

    Norms beyond the marks' limits do not stretch the scale.
    """
    norms = [norm for norm in map(norm_of, nodes) if norm is not None]
    if not norms:
        return None
    inside = [math.log10(n) for n in norms if VANISHING <= n <= EXPLODING]
    low = math.floor(min(inside, default=-6.0))
    high = math.ceil(max(inside, default=3.0))
    return (low - (high - low < 1), max(high, low + 1))


def grade(norm: float, scale: Scale) -> int:
    """Return which colour of `HEAT` a norm has."""
    low, high = scale
    if not norm > 0:
        return 0
    if math.isinf(norm):
        return len(HEAT) - 1
    share = (math.log10(norm) - low) / (high - low)
    return max(0, min(len(HEAT) - 1, int(share * len(HEAT))))


def sign_of(norm: float) -> str:
    """Return a key of `SIGNS`, or nothing for a norm on the scale."""
    if math.isnan(norm):
        return "nan"
    if math.isinf(norm):
        return "inf"
    return "vanishing" if norm < VANISHING else "exploding" if norm > EXPLODING else ""


def spark_path(
    values: Sequence[float], left: int, top: int, size: tuple[int, int], most: int = 12
) -> str:
    """Return the newest values as SVG path data, on a logarithmic scale of their own.

    What is not finite leaves a gap. A norm
    that hardly changes is drawn flat: the scale spans half a decade or more.

    Parameters
    ----------
    values : sequence of float
        Oldest first.
    left, top, size : int, int, (int, int)
        Where the path lies, in px.
    most : int
        Of more values than this some are left out, evenly.
    """
    if len(values) > most:
        values = [values[round(i * (len(values) - 1) / (most - 1))] for i in range(most)]
    logs = [_log(value) for value in values]
    known = [value for value in logs if value is not None]
    if len(known) < 2:
        return ""
    low, high = min(known), max(known)
    slack = max(0.0, 0.5 - (high - low)) / 2
    low, high = low - slack, high + slack
    path, at, before = "", (0, 0), ""
    for i, value in enumerate(logs):
        if value is None:
            before = ""
            continue
        x = left + round(i * size[0] / (len(logs) - 1))
        y = top + round((high - value) / (high - low) * size[1])
        if before:
            path += f"{before}{x - at[0]} {y - at[1]}"
        else:
            path += f"M{x} {y}"
        at, before = (x, y), " " if before else "l"
    return path.replace(" -", "-")


def _log(value: float) -> float | None:
    value = float(value)
    if not math.isfinite(value):
        return None
    return math.log10(max(value, 1e-12))


def flag_of(node: Mapping[str, Any] | None, broke: str, failed: bool) -> str:
    """Return the words at the upper corner of a box where something is wrong, or nothing."""
    if failed:
        return "✕ error"
    if broke:
        return f"{broke} born here"
    norm = norm_of(node)
    sign = "" if norm is None else sign_of(norm)
    if norm is None or sign not in ("vanishing", "exploding"):
        return sign
    return f"{SIGNS[sign]} {f'1e{math.floor(math.log10(norm))}' if norm else '0'}"


def strip_path(left: int, top: int, height: int, radius: int, width: int) -> str:
    """Return the coloured strip along the left of a box, within its rounded corners."""
    if not radius:
        return f"M{left} {top}h{width}v{height}h-{width}z"
    bottom = top + height
    if radius <= width:
        arc = f"a{radius} {radius} 0 0 0 "
        more = width - radius
        return (
            f"M{left + width} {top}h-{more}{arc}-{radius} {radius}v{height - 2 * radius}"
            f"{arc}{radius} {radius}h{more}z"
        )
    inset = round(radius - math.sqrt(radius**2 - (radius - width) ** 2), 1)
    arc = f"A{radius} {radius} 0 0 0 "
    return (
        f"M{left + width} {top + inset}{arc}{left} {top + radius}V{bottom - radius}"
        f"{arc}{left + width} {bottom - inset}z"
    )

"""What a picture shows of a training loop: colours and trends on boxes, and the losses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from leafmagic.boxes import elide
from leafmagic.render.heat import (
    Scale,
    flag_of,
    grade,
    norm_of,
    sign_of,
    spark_path,
    strip_path,
)
from leafmagic.render.style import STATE_STYLES
from leafmagic.render.training import Training, curve_path, number, progress_line
from leafmagic.render.words import state_of, xml_safe

BAND_HEIGHT = 78
_CURVE = (190, 30)
_CURVES = 3
_SPARK = (34, 13)
_FLAG_CHAR = 6


def worth_a_band(training: Training) -> bool:
    """Whether there is a loop to tell of."""
    return (training.get("steps") or 0) > 1 or bool(training.get("loops"))


def add_band(root: ET.Element, training: Training, x: int, y: int, width: int) -> None:
    """Draw how far the loop came, and the curve of each loss."""
    _text(root, "note", x, y, elide(progress_line(training), max(30, (width - 20) // 7)))
    roots = [r for r in training.get("roots") or () if r.get("curve")]
    room = max(1, min(_CURVES, width // (_CURVE[0] + 30)))
    for at, one in enumerate(roots[:room]):
        group = ET.SubElement(root, "g", {"transform": f"translate({x + at * 220} {y + 14})"})
        path, log = curve_path(_thin(one["curve"]), *_CURVE)
        if path:
            ET.SubElement(group, "path", {"class": "c", "d": path})
        line = "" if one.get("line") is None else f" line {one['line']}"
        words = f"{elide(str(one.get('name') or 'backward'), 14)}{line}: {number(one.get('last'))}"
        _text(group, "note", 0, 44, words + (" (log scale)" if log else ""))


def _thin(points: list[Any], most: int = 40) -> list[Any]:
    if len(points) <= most:
        return points
    return [points[round(i * (len(points) - 1) / (most - 1))] for i in range(most)]


def _text(parent: ET.Element, css: str, x: int, y: int, words: str) -> ET.Element:
    text = ET.SubElement(parent, "text", {"class": css, "x": str(x), "y": str(y)})
    text.text = xml_safe(words)
    return text


def shift_of(node: Mapping[str, Any]) -> int:
    """Return how far the words of a measured box stand from its middle."""
    return int(((node.get("heat") or 0) - (node.get("spark") or 0)) / 2)


def add_gradients(
    canvas: ET.Element, drawn: Mapping[str, Any], details: Mapping[str, Any], scale: Scale
) -> None:
    """Draw the colours of the measured boxes, and the trends where there is room.

    All strips of a colour are one path, and all trends: this keeps the document small.
    """
    strips: dict[str, list[str]] = {}
    trends = []
    for node in drawn["nodes"]:
        held = details.get(node.get("of"))
        norm = norm_of(held)
        if held is None or norm is None:
            continue
        radius = min(STATE_STYLES[state_of(details[node["id"]])].radius, node["h"] // 2)
        left, top = node["x"] - node["w"] // 2, node["y"] - node["h"] // 2
        css = "bad" if sign_of(norm) == "nan" else f"g{grade(norm, scale)}"
        path = strip_path(left, top, 2 * (node["h"] // 2), radius, node["heat"])
        strips.setdefault(css, []).append(path)
        if node.get("spark"):
            x = node["x"] + node["w"] // 2 - node["spark"] + 3
            trends.append(spark_path(held.get("trend") or (), x, node["y"] - 6, _SPARK))
    for css, paths in sorted(strips.items()):
        ET.SubElement(canvas, "path", {"class": css, "d": "".join(paths)})
    ET.SubElement(canvas, "path", {"class": "sp", "d": "".join(trends)})


def add_flags(canvas: ET.Element, drawn: Mapping[str, Any], details: Mapping[str, Any]) -> None:
    """Say at the upper left corner of a box what is wrong there."""
    for node in drawn["nodes"]:
        broke = drawn.get("breaks", {}).get(node["id"], "")
        failed = node["id"] in drawn.get("failed", ())
        words = flag_of(details.get(node.get("of")), broke, failed)
        if not words:
            continue
        x, y = node["x"] - node["w"] // 2 - 5, node["y"] - node["h"] // 2 - 7
        wide = len(words) * _FLAG_CHAR + 8
        css = ("al", "alt") if broke or failed else ("fl", "flt")
        box = {"x": str(x), "y": str(y), "width": str(wide), "height": "13", "class": css[0]}
        ET.SubElement(canvas, "rect", box)
        _text(canvas, f"b {css[1]}", x + wide // 2, y + 10, words)


def ran_words(detail: Mapping[str, Any]) -> str:
    """Return ``"12/100"`` for a place that did not run in every step."""
    ran, of = detail.get("ran") or 0, detail.get("ran_of") or 0
    return f"{ran:,}/{of:,}" if 0 < ran < of else ""

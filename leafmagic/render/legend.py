"""The legend: only what the picture shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from leafmagic.boxes import grad_text
from leafmagic.graph import STATES
from leafmagic.render.heat import HEAT, SIGNS, norm_of, scale_of, sign_of
from leafmagic.render.payload import text_width
from leafmagic.render.style import EDGE_WORDS, STATE_STYLES, TAG_PX

_SWATCH = 24
_LINE = 21
_GAP = 28
_CHAR_PX = 6.6  # of the legend's proportional 12 px text, on the safe side


@dataclass(frozen=True, slots=True)
class Item:
    """One entry: what is drawn (a state, an edge or a badge) and what it means."""

    what: str
    key: str
    words: str


def legend_items(
    payload: Mapping[str, Any], drawn: Mapping[str, Any], states: Collection[str]
) -> list[Item]:
    """Return the entries for the states, edges and badges that are drawn."""
    items = [Item("state", state, words) for state, words in STATES.items() if state in states]
    kinds = {"carried" if e["carried"] else e["kind"] for e in drawn["edges"]}
    items += [Item("edge", kind, words) for kind, words in EDGE_WORDS.items() if kind in kinds]
    shown = {node["id"] for node in drawn["nodes"]}
    details = [node for node in payload["nodes"] if node["id"] in shown]
    if any(grad_text(node) not in ("", "grad cleared") for node in details):
        items.append(Item("badge", "grad", "its .grad is filled"))
    if any(node.get("hooks") for node in details):
        items.append(Item("badge", "hook", "has a tensor hook"))
    for severity, word in (("error", "an error"), ("warning", "a warning"), ("info", "a hint")):
        if severity in drawn["markers"].values():
            items.append(Item("marker", severity, f"{word} points here"))
    return items + _gradient_items(payload, drawn)


def _gradient_items(payload: Mapping[str, Any], drawn: Mapping[str, Any]) -> list[Item]:
    scale = scale_of(payload["nodes"])
    if scale is None:
        return []
    nodes = {node["id"]: node for node in payload["nodes"]}
    norms = [norm_of(nodes.get(box.get("of"))) for box in drawn["nodes"]]
    signs = {sign_of(norm) for norm in norms if norm is not None}
    low, high = scale
    items = [Item("scale", "", f"gradient norm, 1e{low} to 1e{high}")]
    for key, words in (
        ("vanishing", "vanishing: below 1e-6"),
        ("exploding", "exploding: above 1e3"),
    ):
        if key in signs:
            items.append(Item("sign", key, words))
    return items


def place_legend(items: list[Item], width: int) -> tuple[list[ET.Element], int]:
    """Return the entries and their height: states, and marks beside them if there is room."""
    states = [item for item in items if item.what == "state"]
    marks = [item for item in items if item.what != "state"]
    column = legend_width(states) + _GAP
    beside = column + legend_width(marks) <= width
    placed = [_entry(item, 0, at * _LINE) for at, item in enumerate(states)]
    for at, item in enumerate(marks):
        x, y = (column, at * _LINE) if beside else (0, (len(states) + at) * _LINE)
        placed.append(_entry(item, x, y))
    lines = max(len(states), len(marks)) if beside else len(items)
    return placed, lines * _LINE


def legend_width(items: list[Item]) -> int:
    """Return the width of the entries under one another."""
    longest = max((len(item.words) for item in items), default=0)
    return _SWATCH + 10 + round(longest * _CHAR_PX)


def _entry(item: Item, x: int, y: int) -> ET.Element:
    group = ET.Element("g", {"transform": f"translate({x} {y})"})
    _swatch(group, item)
    text = ET.SubElement(group, "text", {"class": "note", "x": str(_SWATCH + 10), "y": "12"})
    text.text = item.words
    return group


def _swatch(group: ET.Element, item: Item) -> None:
    if item.what == "state":
        style = STATE_STYLES[item.key]
        group = ET.SubElement(group, "g", {"class": style.css})
        box = {"x": "1", "y": "1", "width": str(_SWATCH), "height": "14"}
        ET.SubElement(
            group,
            "rect",
            {**box, "rx": str(min(style.radius // 2 + 1, 7)) if style.radius else "0"},
        )
        if style.border == "double":
            inner = {"x": "4", "y": "4", "width": str(_SWATCH - 6), "height": "8", "rx": "3"}
            ET.SubElement(group, "rect", {**inner, "class": "in"})
    elif item.what == "edge":
        ET.SubElement(group, "path", {"class": f"e {item.key}", "d": f"M1 8H{_SWATCH + 1}"})
    elif item.what == "badge":
        css = {"grad": "bg", "hook": "bh"}[item.key]
        wide = round(text_width(item.key, TAG_PX)) + 8
        box = {"x": "-2", "y": "2", "width": str(wide), "height": "12", "rx": "6"}
        ET.SubElement(group, "rect", {**box, "class": css})
        at = {"class": f"b {css}t", "x": str(wide / 2 - 2), "y": "11"}
        ET.SubElement(group, "text", at).text = item.key
    elif item.what == "scale":
        for at_x in range(len(HEAT)):
            box = {"x": str(3 * at_x), "y": "2", "width": "3", "height": "12"}
            ET.SubElement(group, "rect", {**box, "class": f"g{at_x}"})
    elif item.what == "sign":
        ET.SubElement(group, "text", {"class": "n", "x": "13", "y": "13"}).text = SIGNS[item.key]
    else:
        ET.SubElement(group, "circle", {"class": f"m {item.key}", "cx": "13", "cy": "8", "r": "7"})
        ET.SubElement(group, "text", {"class": "b mt", "x": "13", "y": "12"}).text = "!"

"""A payload's level as one SVG picture that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree as ET

from leafmagic.boxes import elide, grad_text
from leafmagic.render import svg_css
from leafmagic.render.geometry import CARRIED_ROOM, crop, edge_paths, runs_back, stubs_of
from leafmagic.render.heat import scale_of
from leafmagic.render.legend import legend_items, legend_width, place_legend
from leafmagic.render.payload import text_width
from leafmagic.render.style import STATE_STYLES, TAG_PX
from leafmagic.render.svg_training import (
    BAND_HEIGHT,
    add_band,
    add_flags,
    add_gradients,
    ran_words,
    shift_of,
    worth_a_band,
)
from leafmagic.render.training import training_of
from leafmagic.render.words import counts, graph_label, plural, state_of, xml_safe

Payload = Mapping[str, Any]
Element = ET.Element

MAX_BOXES = 2500
"""More boxes than this make a picture that no viewer opens at ease."""

_MARGIN = 26
_HEADING = 44
_MIN_WIDTH = 370
_MAX_SHOWN_WIDTH = 1100


def render_svg(
    payload: Payload,
    level: str = "names",
    dark: bool = False,
    *,
    max_boxes: int = MAX_BOXES,
    max_bytes: int | None = None,
    tooltips: bool = True,
) -> str:
    """Return a level as a standalone SVG document.

    Parameters
    ----------
    payload : mapping
        What `leafmagic.render.payload.build_payload` returns.
    level : {"names", "ops"}
        The level to draw.
    dark : bool
        Draw for a dark page. Otherwise the picture is light and turns dark where
        the viewer prefers a dark scheme.
    max_boxes : int
        Draw the first rows only where there are more boxes, and say so.
    max_bytes : int, optional
        Leave out rows until the document is no longer than this.
    tooltips : bool
        Whether boxes carry a title; in an ``<img>`` none can be seen.
    """
    drawn = payload["levels"][level]
    limit = min(max_boxes, len(drawn["nodes"]))
    while True:
        text = _draw(payload, crop(drawn, limit), level, dark, tooltips)
        if max_bytes is None or len(text) <= max_bytes or limit <= 1:
            return text
        limit = min(limit - 1, int(limit * max_bytes / len(text) * 0.96))


def _draw(
    payload: Payload, drawn: Mapping[str, Any], level: str, dark: bool, tooltips: bool
) -> str:
    details = {node["id"]: node for node in payload["nodes"]}
    boxes = {node["id"]: node for node in drawn["nodes"]}
    states = {state_of(details[node_id]) for node_id in boxes}
    loops = any(runs_back(e, boxes[e["target"]], boxes[e["source"]]) for e in drawn["edges"])
    graph_width = drawn["width"] + (CARRIED_ROOM if loops else 0)
    items = legend_items(payload, drawn, states)
    width = max(graph_width, legend_width(items), _MIN_WIDTH) + 2 * _MARGIN
    note = _left_out(drawn)
    training = training_of(payload)
    top = _HEADING + (BAND_HEIGHT if worth_a_band(training) else 0)
    legend_top = top + drawn["height"] + 2 * _MARGIN
    legend, legend_height = place_legend(items, width - 2 * _MARGIN)
    height = legend_top + legend_height + (24 if note else 0) + 14
    scale = scale_of(payload["nodes"])
    root = _root(payload, drawn, level, (width, height))
    _add(root, "style").text = svg_css.style_sheet(
        states, dark=dark, measured=bool(training) or scale is not None
    )
    _add(root, "rect", {"class": "page", "width": width, "height": height, "rx": 8})
    _heading(root, payload)
    if top > _HEADING:
        add_band(root, training, _MARGIN, 52, width - 2 * _MARGIN)
    left = _MARGIN + (width - 2 * _MARGIN - graph_width) // 2
    canvas = _add(root, "g", {"transform": f"translate({left} {top + 14})"})
    _add_edges(canvas, drawn, boxes, details)
    for node in drawn["nodes"]:
        group = _add_box(canvas, node, details[node["id"]], tooltips)
        right, bottom = node["w"] // 2, node["h"] // 2
        _add_badges(group, details[node["id"]], drawn["markers"].get(node["id"]), right, bottom)
    if scale is not None:
        add_gradients(canvas, drawn, details, scale)
    add_flags(canvas, drawn, details)
    foot = _add(root, "g", {"transform": f"translate({_MARGIN} {legend_top})"})
    _add(foot, "path", {"class": "rule", "d": f"M0 -14H{width - 2 * _MARGIN}"})
    foot.extend(legend)
    if note:
        _add(foot, "text", {"class": "note", "y": legend_height + 16}).text = note
    # The space before "/>" can be in no text and no attribute: there ">" is escaped.
    return ET.tostring(root, encoding="unicode").replace(" />", "/>")


def _root(payload: Payload, drawn: Mapping[str, Any], level: str, size: tuple[int, int]) -> Element:
    width, height = size
    scale = min(1.0, _MAX_SHOWN_WIDTH / width)
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "lm",
            "viewBox": f"0 0 {width} {height}",
            "width": str(round(width * scale)),
            "height": str(round(height * scale)),
            "role": "img",
        },
    )
    _add(root, "title").text = xml_safe(f"Autograd graph of {graph_label(payload)}")
    found = [str(f.get("message", "")) for f in payload.get("findings") or ()]
    shown = f"{plural(len(drawn['nodes']), 'box', 'boxes')} at level {level}. "
    _add(root, "desc").text = xml_safe(elide(f"{shown}{counts(payload)}. {' '.join(found)}", 600))
    return root


def _add(parent: Element, tag: str, attributes: Mapping[str, object] | None = None) -> Element:
    values = {name: str(value) for name, value in (attributes or {}).items()}
    return ET.SubElement(parent, tag, values)


def _heading(root: Element, payload: Payload) -> None:
    text = _add(root, "text", {"class": "head", "x": _MARGIN, "y": 30})
    text.text = xml_safe(elide(graph_label(payload), 40))
    _add(text, "tspan", {"class": "note", "dx": 10}).text = counts(payload)


def _left_out(drawn: Mapping[str, Any]) -> str:
    if not drawn["left_out"]:
        return ""
    shown, rows = drawn["rows"]
    left = plural(drawn["left_out"], "box is", "boxes are")
    if shown == rows:
        return f"{left} left out to keep this picture small."
    return f"The first {shown} of {rows} rows; {left} left out to keep this picture small."


def _add_edges(
    canvas: Element,
    drawn: Mapping[str, Any],
    boxes: Mapping[str, Any],
    details: Mapping[str, Any],
) -> None:
    """Draw all lines of a kind as one path, which keeps the document small."""
    lines: dict[str, list[str]] = {}
    heads: list[str] = []
    labels = []
    for edge in drawn["edges"]:
        if edge.get("route") == "stub":
            continue
        upper, lower = boxes[edge["target"]], boxes[edge["source"]]
        line, head = edge_paths(edge, upper, lower, _tag_end(details[upper["id"]]))
        kind = "carried" if edge["carried"] else edge["kind"]
        lines.setdefault({"output": "next"}.get(kind, kind), []).append(line)
        heads.append(head)
        says_it = details[edge["source"]].get("source") or edge["carried"] or edge.get("route")
        if edge["label"] and not says_it:
            labels.append((edge["label"], upper, lower))
    for kind, parts in sorted(lines.items()):
        _add(canvas, "path", {"class": f"e {kind}", "d": "".join(parts)})
    if heads:
        _add(canvas, "path", {"class": "h", "d": "".join(heads)})
    for label, upper, lower in labels:
        bottom, top = upper["y"] + upper["h"] // 2, lower["y"] - lower["h"] // 2
        at = {"class": "el", "x": (upper["x"] + lower["x"]) // 2, "y": (bottom + top) // 2 + 1}
        _add(canvas, "text", at).text = xml_safe(label)
    for node_id, names in stubs_of(drawn).items():
        _add_stub(canvas, boxes[node_id], names)


def _add_stub(canvas: Element, box: Mapping[str, Any], names: list[str]) -> None:
    x, y = box["x"] - box["w"] // 2, box["y"]
    lines = list(dict.fromkeys(names))
    if len(lines) > 3:
        lines = [*lines[:2], f"+{len(lines) - 2} more"]
    _add(canvas, "path", {"class": "e", "d": f"M{x - 18} {y}H{x - 6}"})
    _add(canvas, "path", {"class": "h", "d": f"M{x - 7} {y - 4}v8l7 -4z"})
    top = y + 4 - 6 * (len(lines) - 1)
    for at, line in enumerate(lines):
        place = {"class": "st", "x": x - 22, "y": top + 12 * at}
        _add(canvas, "text", place).text = xml_safe(line)


def _add_box(
    canvas: Element,
    node: Mapping[str, Any],
    detail: Mapping[str, Any],
    tooltips: bool,
) -> Element:
    state = state_of(detail)
    style = STATE_STYLES[state]
    css = style.css if detail.get("in_newest", True) else f"{style.css} old"
    group = _add(canvas, "g", {"class": css, "transform": f"translate({node['x']} {node['y']})"})
    middle = {"x": shift_of(node)} if node.get("heat") else {}
    if tooltips:
        _add(group, "title").text = xml_safe(tooltip(detail))
    right, bottom = node["w"] // 2, node["h"] // 2
    _add(group, "rect", _rect(right, bottom, min(style.radius, bottom)))
    if style.border == "double":
        _add(group, "rect", {**_rect(right - 3, bottom - 3, 6), "class": "in"})
    two_lines = bool(node["sub"])
    base = {**middle, "class": "n", "y": (-2 if two_lines else 5) - (0 if state != "op" else 1)}
    _add(group, "text", base).text = xml_safe(node["label"])
    if two_lines:
        sub = {**middle, "class": "s", "y": 13 if state != "op" else 10}
        _add(group, "text", sub).text = xml_safe(node["sub"])
    if state != "op":
        patch = f"M{8 - right} {bottom}h{_tag_end(detail) - 10}"
        _add(group, "path", {"class": "p", "d": patch})
        tag = {"class": "t", "x": 11 - right, "y": bottom + 3}
        _add(group, "text", tag).text = style.tag
    ran = ran_words(detail)
    if ran and text_width(ran, TAG_PX) + _tag_end(detail) + 20 < 2 * right:
        _add(group, "text", {"class": "t ra", "x": right - 8, "y": bottom - 4}).text = ran
    return group


def _tag_end(detail: Mapping[str, Any]) -> int:
    """Return how far from the left of a box its tag reaches; an op has none."""
    state = state_of(detail)
    return 0 if state == "op" else round(text_width(STATE_STYLES[state].tag, TAG_PX)) + 15


def _rect(right: int, bottom: int, radius: int) -> dict[str, int]:
    return {
        "x": -right,
        "y": -bottom,
        "width": 2 * right,
        "height": 2 * bottom,
        "rx": radius,
    }


def _add_badges(
    group: Element, detail: Mapping[str, Any], marker: str | None, right: int, bottom: int
) -> None:
    edge = right - 14 if marker else right + 8  # out of the way of arrows
    passes, grad = detail.get("passes") or 0, grad_text(detail)
    for shown, word, css in (
        (
            grad not in ("", "grad cleared"),
            f"grad Σ{passes}" if passes > 1 else "grad",
            "bg",
        ),
        (bool(detail.get("hooks")), "hook", "bh"),
    ):
        if shown:
            wide = round(text_width(word, TAG_PX)) + 10
            badge = {**_rect(0, 0, 6), "x": edge - wide, "y": -bottom - 6, "width": wide}
            _add(group, "rect", {**badge, "height": 12, "class": css})
            at = {"class": f"b {css}t", "x": edge - wide // 2, "y": 3 - bottom}
            _add(group, "text", at).text = word
            edge -= wide + 4
    if marker:
        at = {"class": f"m {marker}", "cx": right - 2, "cy": 2 - bottom, "r": 8}
        _add(group, "circle", at)
        _add(group, "text", {"class": "b mt", "x": right - 2, "y": 6 - bottom}).text = "!"


def tooltip(detail: Mapping[str, Any]) -> str:
    """Return what hovering over a box says of its node."""
    name = detail.get("name") or detail.get("op") or "tensor"
    lines = [f"{name} ({state_of(detail)})"]
    if detail.get("line") is not None:
        where = detail.get("cell") or ""
        lines.append(f"{where + ', ' if where else ''}line {detail['line']}")
    if detail.get("source"):
        lines.append(elide(detail["source"], 120))
    lines += [text for text in (detail.get("preview"), grad_text(detail)) if text]
    return "\n".join(lines)

"""One JSON document for every renderer: the trace's document plus what each level shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from leafmagic.boxes import Box, Level, name_of
from leafmagic.layout import Layout, Route, lay_out
from leafmagic.levels import LevelGraph, Link, level_graph
from leafmagic.render.diffs import fix_diff
from leafmagic.render.style import CHAR_EM, LABEL_PX, OP_PX, SUB_PX, TAG_PX
from leafmagic.render.words import cells, short_name

_BOX_HEIGHT = 48
_OP_HEIGHT = 26
_BARE_HEIGHT = 34
_PADDING = 24
_MIN_WIDTH = 64
_NAME_CHARS = 24
HEAT_PX = 9
SPARK_PX = 44
"""What a measured box has at its left for the colour, and at its right for the trend."""
SPARK_BOXES = 300
"""A level with more boxes than this has no trends on them."""

Document = Mapping[str, Any]


def build_payload(
    document: Document, *, levels: Iterable[Level] = ("names", "ops")
) -> dict[str, Any]:
    """Return the document with a drawing of each level added.

    Parameters
    ----------
    document : mapping
        What a trace saves: ``nodes``, ``edges``, ``findings`` and the rest. It is not
        changed.
    levels : iterable of {"names", "ops"}
        The levels to lay out.

    Returns
    -------
    dict
        The same keys, and ``levels``: for each its ``nodes`` (id, centre ``x`` and
        ``y``, ``w``, ``h``, ``label``, ``sub``; where a gradient was measured ``of``, the
        node that holds it, and the room at the left for its colour, ``heat``, and at the
        right for its trend, ``spark``), its ``edges`` (``source``, ``target``,
        ``kind``, ``label``, ``carried`` and, where it is not one plain curve, ``route``
        and ``points``), ``width``, ``height``, ``markers`` (box id to severity),
        ``breaks`` (box id to "nan" or "inf") and ``failed`` (box ids).
        Findings have a ``diff`` in place of their ``edits`` (see `fix_diff`).
    """
    return {
        **document,
        "findings": [_with_diff(f, document.get("cell") or {}) for f in document["findings"]],
        "levels": {level: draw_level(document, level) for level in levels},
    }


def _with_diff(finding: Mapping[str, Any], cell: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: value for key, value in finding.items() if key != "edits"}
    diff = fix_diff(finding, cell)
    return shown if diff is None else {**shown, "diff": diff}


def draw_level(document: Document, level: Level) -> dict[str, Any]:
    """Return one entry of ``levels``."""
    graph = level_graph(document, level)
    nodes = {node["id"]: node for node in document["nodes"]}
    graph = replace(graph, boxes=tuple(_named(b, name_of(nodes[b.id])) for b in graph.boxes))
    rooms = _rooms(document, graph, nodes)
    sizes = tuple(_box_size(box, rooms.get(box.id)) for box in graph.boxes)
    index = {box.id: i for i, box in enumerate(graph.boxes)}
    ranked = [i for i, link in enumerate(graph.links) if not link.carried]
    pairs = tuple((index[graph.links[i].target], index[graph.links[i].source]) for i in ranked)
    layout = _placed(sizes, pairs, tuple(text_width(box.label, SUB_PX) for box in graph.boxes))
    routes = {ranked[i]: route for i, route in layout.routes.items()}
    breaks = {
        graph.owner.get(i, i): node["breaks"] for i, node in nodes.items() if node.get("breaks")
    }
    failed = {graph.owner.get(i, i) for i, node in nodes.items() if node.get("failed")}
    return {
        "nodes": _boxes(graph, sizes, layout, rooms),
        "edges": [_edge(link, routes.get(i)) for i, link in enumerate(graph.links)],
        "width": round(layout.width),
        "height": round(layout.height),
        "markers": graph.markers,
        "breaks": {i: what for i, what in breaks.items() if i in index},
        "failed": sorted(failed & index.keys()),
    }


@lru_cache(maxsize=16)
def _placed(
    sizes: tuple[tuple[int, int], ...], pairs: tuple[tuple[int, int], ...], tags: tuple[float, ...]
) -> Layout:
    """Lay out, or return the layout that was made of the same graph before.

    While a loop runs the numbers on the boxes change and their places do not.
    """
    return lay_out(sizes, pairs, tags=tags)


def _rooms(
    document: Document, graph: LevelGraph, nodes: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return for each box whose gradient was measured by whom, and the room it takes."""
    of = {}
    for box in graph.boxes:
        for holder in (box.id, graph.made_by.get(box.id, "")):
            if nodes.get(holder, {}).get("stats"):
                of[box.id] = holder
                break
    training = document.get("training") or {}
    # In a loop the room is kept from the first step on, so that the second moves nothing.
    repeats = bool(training.get("loops")) or (training.get("steps") or 0) > 1
    spark = SPARK_PX if repeats and len(graph.boxes) <= SPARK_BOXES else 0
    return {box: {"of": holder, "heat": HEAT_PX, "spark": spark} for box, holder in of.items()}


def _named(box: Box, name: str) -> Box:
    """Return the box with the end of a long dotted name where the level kept both ends."""
    if box.kind == "op" or len(name) <= _NAME_CHARS:
        return box
    return replace(box, label=short_name(name, _NAME_CHARS))


def text_width(text: str, font_px: float) -> float:
    """Return the width of monospaced text; wide East Asian characters count twice."""
    return cells(text) * font_px * CHAR_EM


def _box_size(box: Box, room: Mapping[str, Any] | None) -> tuple[int, int]:
    more = room["heat"] + room["spark"] if room else 0
    if box.kind == "op":
        text = max(text_width(box.label, OP_PX), text_width(box.sub, TAG_PX), 18)
        return 2 * round((text + more) / 2 + 13), _BARE_HEIGHT if box.sub else _OP_HEIGHT
    text = max(text_width(box.label, LABEL_PX), text_width(box.widest or box.sub, SUB_PX))
    tag = text_width(box.state, TAG_PX) + 24
    width = max(text + _PADDING + more, tag, _MIN_WIDTH)
    return 2 * round(width / 2), _BOX_HEIGHT if box.widest or box.sub else _BARE_HEIGHT


def _boxes(
    graph: LevelGraph,
    sizes: tuple[tuple[int, int], ...],
    layout: Layout,
    rooms: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    return [
        {
            "id": box.id,
            "x": round(layout.x[i]),
            "y": round(layout.y[i]),
            "w": sizes[i][0],
            "h": sizes[i][1],
            "label": box.label,
            "sub": box.sub,
            **rooms.get(box.id, {}),
        }
        for i, box in enumerate(graph.boxes)
    ]


def _edge(link: Link, route: Route | None) -> dict[str, Any]:
    edge: dict[str, Any] = {
        "source": link.source,
        "target": link.target,
        "kind": link.kind,
        "label": link.label,
        "carried": link.carried,
    }
    if route is not None:
        edge["route"] = route.kind
        if route.points:
            edge["points"] = [[round(x), round(y)] for x, y in route.points]
    return edge

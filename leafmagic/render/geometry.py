"""The lines of a level as SVG path data, and which part of a level fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

Drawn = Mapping[str, Any]

_HEAD = 7
_PORT_SHARE = 0.22
_PORT_REACH = 0.32
CARRIED_ROOM = 70


def edge_paths(edge: Drawn, upper: Drawn, lower: Drawn, tag: int = 0) -> tuple[str, str]:
    """Return the line and the arrow head of an edge; data flows from `upper` to `lower`.

    `tag` is how far from the left a word stands on the lower border of `upper`.
    """
    if runs_back(edge, upper, lower):
        return _loop(upper, lower)
    points = [tuple(point) for point in edge.get("points") or ()]
    first = points[0] if points else (lower["x"], 0)
    last = points[-1] if points else (upper["x"], 0)
    bus = edge.get("route") == "bus"
    x1, y1 = upper["x"] if bus else _port(upper, first[0]), upper["y"] + upper["h"] // 2
    if x1 - upper["x"] + upper["w"] // 2 < tag:
        y1 += 6  # the word on the lower border stays readable
    x2, y2 = last[0] if bus else _port(lower, last[0]), lower["y"] - lower["h"] // 2
    head = f"M{x2 - 4} {y2 - _HEAD}h8l-4 {_HEAD}z"
    stops = [(x1, y1), *points, (x2, y2 - _HEAD)]
    if bus or edge.get("route") == "lane":
        return _polyline(stops), head
    path = [f"M{x1} {y1}"]
    for at, ((xa, ya), (xb, yb)) in enumerate(pairwise(stops)):
        if xa == xb or at % 2:  # odd stretches run straight down through a row
            path.append(f"V{yb}" if xa == xb else f"L{xb} {yb}")
        else:
            middle = (ya + yb) // 2
            path.append(f"C{xa} {middle} {xb} {middle} {xb} {yb}")
    return "".join(path), head


def runs_back(edge: Drawn, upper: Drawn, lower: Drawn) -> bool:
    """Whether an edge comes from an earlier step, or closes a cycle."""
    return bool(edge["carried"]) or upper["y"] >= lower["y"]


def _port(box: Drawn, towards: int) -> int:
    """Return where an edge leaves a box: towards its other end, but well inside."""
    x, reach = int(box["x"]), int(box["w"] * _PORT_REACH)
    return x + max(-reach, min(reach, round((towards - x) * _PORT_SHARE)))


def _polyline(stops: list[tuple[int, int]]) -> str:
    path = [f"M{stops[0][0]} {stops[0][1]}"]
    path += [f"L{x} {y}" for x, y in stops[1:]]
    return "".join(path)


def _loop(upper: Drawn, lower: Drawn) -> tuple[str, str]:
    """Draw an edge that runs back: out at the right side and in again there."""
    x1, y1 = upper["x"] + upper["w"] // 2, upper["y"] + upper["h"] // 4
    x2, y2 = lower["x"] + lower["w"] // 2, lower["y"] - lower["h"] // 4
    out = max(x1, x2) + min(30 + abs(y2 - y1) // 8, CARRIED_ROOM)
    line = f"M{x1} {y1}C{out} {y1} {out} {y2} {x2 + _HEAD} {y2}"
    return line, f"M{x2 + _HEAD} {y2 - 4}v8l-{_HEAD} -4z"


def stubs_of(level: Drawn) -> dict[str, list[str]]:
    """Return for every box the labels of the inputs that are drawn as stubs."""
    labels = {node["id"]: node["label"] for node in level["nodes"]}
    stubs: dict[str, list[str]] = {}
    for edge in level["edges"]:
        if edge.get("route") == "stub":
            stubs.setdefault(edge["source"], []).append(labels[edge["target"]])
    return stubs


def crop(level: Drawn, limit: int) -> dict[str, Any]:
    """Keep the first rows of a level, with at most `limit` boxes.

    The counts of what is left out are added as ``left_out`` (boxes) and ``rows``
    (shown, of all).
    """
    nodes = sorted(level["nodes"], key=lambda node: (node["y"], node["x"]))
    rows = len({node["y"] for node in nodes})
    if len(nodes) <= limit:
        return {**level, "left_out": 0, "rows": (rows, rows)}
    limit = max(limit, 1)
    kept = nodes[:limit]
    full = [node for node in kept if node["y"] < nodes[limit]["y"]]
    kept = full or kept
    ids = {node["id"] for node in kept}
    edges = [e for e in level["edges"] if e["source"] in ids and e["target"] in ids]
    left = min(node["x"] - node["w"] // 2 for node in kept)
    return {
        **_moved(kept, edges, left),
        "markers": {i: s for i, s in level.get("markers", {}).items() if i in ids},
        "left_out": len(nodes) - len(kept),
        "rows": (len({node["y"] for node in kept}), rows),
    }


def _moved(nodes: list[Any], edges: list[Any], left: int) -> dict[str, Any]:
    """Shift what is kept to the left edge and measure it anew."""
    shift: Callable[[Any], Any] = lambda e: (  # noqa: E731
        {**e, "points": [[x - left, y] for x, y in e["points"]]} if e.get("points") else e
    )
    moved = [{**node, "x": node["x"] - left} for node in nodes]
    lines = [shift(edge) for edge in edges]
    reach = [node["x"] + node["w"] // 2 for node in moved]
    reach += [x + 6 for edge in lines for x, _ in edge.get("points") or ()]
    return {
        "nodes": moved,
        "edges": lines,
        "width": max(reach),
        "height": max(node["y"] + node["h"] // 2 for node in moved),
    }

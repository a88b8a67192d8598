"""Rows and columns for a graph, in plain Python.

The rules:

1. A node's row is its longest path from the inputs, so that a new operation never
   moves an earlier one.
2. A leaf, or a short chain fed only by leaves (weight -> T -> Addmm), is a satellite:
   it stands in the row above its first consumer, right of the data.
3. An edge over several rows bends through those rows. Where it would span too many it
   becomes a side lane, and further edges of a shared leaf become stubs.
4. A row is placed by the mean position of its neighbours, without overlaps, in a few
   sweeps; then paths that can be straight are made straight.

Disconnected parts are laid out alone and packed side by side. Nothing recurses, and
equal input gives equal output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from leafmagic.placing import Layers, place_layers
from leafmagic.ranking import Ranking, rank_nodes

_GAP_X = 22.0
_GAP_Y = 34.0
_PART_GAP = 44.0
_LANE_GAP = 9.0
_MAX_LANES = 12
_MAX_SPAN = 40
_LEAF_SPAN = 5
_LEAF_LONG_EDGES = 2
_ASPECT = 1.5

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Route:
    """How an edge runs where it is not one curve from box to box.

    Attributes
    ----------
    kind : {"bend", "lane", "stub"}
        ``bend`` passes between the boxes of the rows it crosses, ``lane`` runs beside
        all of them, ``stub`` is drawn only as the source's name at its end.
    points : tuple of (x, y)
        Where it passes, from the upper end to the lower; empty for a stub.
    """

    kind: Literal["bend", "lane", "stub"]
    points: tuple[Point, ...] = ()


@dataclass(slots=True)
class Layout:
    """Where everything is: box centres, routes by edge index, and the whole size."""

    x: list[float]
    y: list[float]
    width: float = 0.0
    height: float = 0.0
    routes: dict[int, Route] = field(default_factory=dict)


def lay_out(
    sizes: Sequence[tuple[float, float]],
    edges: Sequence[tuple[int, int]],
    *,
    tags: Sequence[float] | None = None,
) -> Layout:
    """Place boxes in rows, so that every edge points downwards.

    Parameters
    ----------
    sizes : sequence of (width, height)
        One for each node.
    edges : sequence of (upper, lower)
        Node indices. An edge that closes a cycle is left out of the ranking.
    tags : sequence of float, optional
        How wide each node's name is where it stands as a stub beside a consumer.

    Returns
    -------
    Layout
        Centres, in the units of `sizes`, y growing downwards; nothing is left of or
        above zero.
    """
    result = Layout([0.0] * len(sizes), [0.0] * len(sizes))
    parts = _parts(len(sizes), edges)
    frames = [_lay_out_part(nodes, part, edges, sizes, tags, result) for nodes, part in parts]
    _pack(parts, frames, result)
    return result


def _parts(count: int, edges: Sequence[tuple[int, int]]) -> list[tuple[list[int], list[int]]]:
    """Return the nodes and the edge indices of each connected part, in node order."""
    parent = list(range(count))

    def find(i: int) -> int:
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for a, b in edges:
        root_a, root_b = find(a), find(b)
        if root_a != root_b:
            parent[max(root_a, root_b)] = min(root_a, root_b)
    parts: dict[int, tuple[list[int], list[int]]] = {}
    for i in range(count):
        parts.setdefault(find(i), ([], []))[0].append(i)
    for e, (a, b) in enumerate(edges):
        if a != b:
            parts[find(a)][1].append(e)
    return list(parts.values())


def _lay_out_part(
    nodes: list[int],
    part: list[int],
    edges: Sequence[tuple[int, int]],
    sizes: Sequence[tuple[float, float]],
    tags: Sequence[float] | None,
    result: Layout,
) -> tuple[float, float]:
    """Place one connected part with its corner at the origin; return its size."""
    if len(nodes) == 1:
        width, height = sizes[nodes[0]]
        result.x[nodes[0]], result.y[nodes[0]] = width / 2, height / 2
        return width, height
    local = {node: i for i, node in enumerate(nodes)}
    pairs = [(local[edges[e][0]], local[edges[e][1]]) for e in part]
    ranking = rank_nodes(len(nodes), pairs)
    half = [sizes[node][0] / 2 for node in nodes]
    layers = Layers(ranking, half, _GAP_X)
    plan = _plan_long_edges(ranking, pairs)
    stubs: dict[int, float] = {}
    for e, (a, b) in enumerate(pairs):
        if plan.get(e) == "stub" and tags is not None:
            stubs[b] = min(stubs.get(b, 18.0) + tags[nodes[a]] + 8, 190.0)
    for i, room in stubs.items():
        layers.left[i] += room
    chains = {
        e: layers.add_edge(a, b, bend=plan.get(e) == "bend")
        for e, (a, b) in enumerate(pairs)
        if plan.get(e) in (None, "bend")
    }
    place_layers(layers)
    tops, bottoms, height = _rows(layers, [sizes[node][1] for node in nodes])
    left = min(x - room for x, room in zip(layers.x, layers.left, strict=True))
    right = max(x + room for x, room in zip(layers.x, layers.right, strict=True))
    for i, node in enumerate(nodes):
        row = ranking.rank[i]
        result.x[node], result.y[node] = layers.x[i] - left, (tops[row] + bottoms[row]) / 2
    for e, dummies in chains.items():
        if dummies:
            points = _bend([(layers.x[d] - left, layers.rank[d]) for d in dummies], tops, bottoms)
            result.routes[part[e]] = Route("bend", points)
    width = right - left
    lanes = [e for e in plan if plan[e] == "lane"]
    spans = [(ranking.rank[pairs[e][0]], ranking.rank[pairs[e][1]]) for e in lanes]
    for e, lane in zip(lanes, _assign_lanes(spans), strict=True):
        (a, b), x = pairs[e], right - left + _LANE_GAP * (lane + 2)
        ya, yb = bottoms[ranking.rank[a]] + _GAP_Y / 2, tops[ranking.rank[b]] - _GAP_Y / 2
        result.routes[part[e]] = Route("lane", ((x, ya), (x, yb)))
        width = max(width, x)
    for e, what in plan.items():
        if what == "stub":
            result.routes[part[e]] = Route("stub")
    return width, height


def _plan_long_edges(
    ranking: Ranking, pairs: Sequence[tuple[int, int]]
) -> dict[int, Literal["bend", "lane", "stub"]]:
    """Decide how each edge over more than one row runs; edges between neighbours are left out."""
    plan: dict[int, Literal["bend", "lane", "stub"]] = {}
    rank, bends = ranking.rank, 0
    long_of: dict[int, int] = {}
    budget = 4 * len(rank) + 400
    for e, (a, b) in enumerate(pairs):
        if rank[b] - rank[a] > 1 and ranking.is_source[a]:
            long_of[a] = long_of.get(a, 0) + 1
    spans = sorted((rank[b] - rank[a], e) for e, (a, b) in enumerate(pairs))
    for span, e in spans:
        a = pairs[e][0]
        if span == 1:
            continue
        if span < 1:
            plan[e] = "lane"  # it closes a cycle
        elif a in long_of and (span > _LEAF_SPAN or long_of[a] > _LEAF_LONG_EDGES):
            plan[e] = "stub"
        elif span > _MAX_SPAN or bends + span > budget:
            plan[e] = "lane"
        else:
            plan[e] = "bend"
            bends += span
    return plan


def _rows(layers: Layers, heights: list[float]) -> tuple[list[float], list[float], float]:
    """Return the top and bottom of every row and the height of all."""
    tall = [0.0] * len(layers.rows)
    for i, height in enumerate(heights):
        row = layers.rank[i]
        tall[row] = max(tall[row], height)
    tops, bottoms, y = [], [], 0.0
    for height in tall:
        tops.append(y)
        bottoms.append(y + height)
        y += height + _GAP_Y
    return tops, bottoms, y - _GAP_Y


def _bend(
    dummies: list[tuple[float, int]], tops: list[float], bottoms: list[float]
) -> tuple[Point, ...]:
    """Return the corners of an edge through its rows, straight stretches merged."""
    points: list[Point] = []
    for x, row in dummies:
        if len(points) > 1 and abs(points[-1][0] - x) < 0.5:
            points[-1] = (x, bottoms[row])
        else:
            points += [(x, tops[row]), (x, bottoms[row])]
    return tuple(points)


def _assign_lanes(spans: list[tuple[int, int]]) -> list[int]:
    """Give intervals of rows the innermost lane that is free, the shortest first."""
    lanes: list[list[tuple[int, int]]] = []
    chosen = [0] * len(spans)
    by_length = sorted(range(len(spans)), key=lambda i: (abs(spans[i][1] - spans[i][0]), i))
    for i in by_length:
        low, high = min(spans[i]), max(spans[i])
        for lane, taken in enumerate(lanes):
            if len(taken) < 64 and all(high < a or b < low for a, b in taken):
                break
        else:
            lane = len(lanes) % _MAX_LANES
            if len(lanes) < _MAX_LANES:
                lanes.append([])
        lanes[lane].append((low, high))
        chosen[i] = lane
    return chosen


def _pack(
    parts: list[tuple[list[int], list[int]]], frames: list[tuple[float, float]], result: Layout
) -> None:
    """Put the parts on shelves, in order, so that the whole is about as wide as a page."""
    if not frames:
        return
    area = sum((w + _PART_GAP) * (h + _PART_GAP) for w, h in frames)
    limit = max(max(w for w, _ in frames), (area * _ASPECT) ** 0.5)
    x = y = shelf = 0.0
    for (nodes, part), (width, height) in zip(parts, frames, strict=True):
        if x and x + width > limit:
            x, y, shelf = 0.0, y + shelf + _PART_GAP, 0.0
        for node in nodes:
            result.x[node] += x
            result.y[node] += y
        for e in part:
            route = result.routes.get(e)
            if route is not None and route.points:
                moved = tuple((px + x, py + y) for px, py in route.points)
                result.routes[e] = Route(route.kind, moved)
        result.width = max(result.width, x + width)
        x += width + _PART_GAP
        shelf = max(shelf, height)
    result.height = y + shelf

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

_STUB_ROOM = 160.0
_STUB_ARROW = 26.0

Point = tuple[float, float]
RouteKind = Literal["bend", "lane", "bus", "stub"]
_Plan = dict[int, RouteKind]


@dataclass(frozen=True, slots=True)
class Route:
    """How an edge runs where it is not one curve from box to box.

    Attributes
    ----------
    kind : {"bend", "lane", "bus", "stub"}
        ``bend`` passes between the boxes of the rows it crosses, ``lane`` runs beside
        all of them, ``bus`` joins the other leaves of a grid, ``stub`` is drawn only as
        the source's name at its end.
    points : tuple of (x, y)
        Where it passes, from the upper end to the lower; empty for a stub.
    """

    kind: RouteKind
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
    frames = [_lay_out_part(part, sizes, tags, result) for part in parts]
    _pack(parts, frames, result)
    return result


def _parts(count: int, edges: Sequence[tuple[int, int]]) -> list[_Part]:
    """Return each connected part, in node order."""
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
    parts: dict[int, _Part] = {}
    local = [0] * count
    for i in range(count):
        part = parts.setdefault(find(i), _Part([], [], []))
        local[i] = len(part.nodes)
        part.nodes.append(i)
    for e, (a, b) in enumerate(edges):
        if a != b:
            part = parts[find(a)]
            part.edges.append(e)
            part.pairs.append((local[a], local[b]))
    return list(parts.values())


@dataclass(slots=True)
class _Part:
    """A connected part: its nodes, and its edges between positions in `nodes`."""

    nodes: list[int]
    edges: list[int]
    pairs: list[tuple[int, int]]


def _lay_out_part(
    part: _Part,
    sizes: Sequence[tuple[float, float]],
    tags: Sequence[float] | None,
    result: Layout,
) -> tuple[float, float]:
    """Place one connected part with its corner at the origin; return its size."""
    nodes, pairs = part.nodes, part.pairs
    if len(nodes) == 1:
        width, height = sizes[nodes[0]]
        result.x[nodes[0]], result.y[nodes[0]] = width / 2, height / 2
        return width, height
    ranking = rank_nodes(pairs, [sizes[node][0] + _GAP_X for node in nodes])
    layers = Layers(ranking, [sizes[node][0] / 2 for node in nodes], _GAP_X)
    plan = _plan_long_edges(ranking, pairs)
    if tags is not None:
        _make_room_for_stubs(layers, pairs, plan, [tags[node] for node in nodes])
    chains = {
        e: layers.add_edge(a, b, bend=plan.get(e) == "bend")
        for e, (a, b) in enumerate(pairs)
        if plan.get(e) in (None, "bend") and layers.rank[a] < layers.rank[b]
    }
    place_layers(layers)
    left = min(x - room for x, room in zip(layers.x, layers.left, strict=True))
    layers.x = [x - left for x in layers.x]
    width = max(x + room for x, room in zip(layers.x, layers.right, strict=True))
    rows = _rows(layers, [sizes[node][1] for node in nodes])
    for i, node in enumerate(nodes):
        row = layers.rank[i]
        result.x[node], result.y[node] = layers.x[i], (rows.tops[row] + rows.bottoms[row]) / 2
    routes = _routes(layers, pairs, plan, chains, rows)
    lanes = _lane_routes([e for e in plan if plan[e] == "lane"], pairs, layers.rank, rows, width)
    for e, route in [*routes.items(), *lanes.items()]:
        result.routes[part.edges[e]] = route
    width = max([width, *(route.points[0][0] for route in lanes.values())])
    return width, rows.bottoms[-1]


def _make_room_for_stubs(
    layers: Layers, pairs: Sequence[tuple[int, int]], plan: _Plan, tags: list[float]
) -> None:
    """Keep a box's left side free where names stand there for edges."""
    room: dict[int, float] = {}
    for e, (a, b) in enumerate(pairs):
        if plan.get(e) == "stub":
            room[b] = max(room.get(b, 0.0), min(tags[a], _STUB_ROOM) + _STUB_ARROW)
    for i, more in room.items():
        layers.left[i] += more


def _routes(
    layers: Layers,
    pairs: Sequence[tuple[int, int]],
    plan: _Plan,
    chains: dict[int, list[int]],
    rows: _Rows,
) -> dict[int, Route]:
    """Return the routes of bends, grids and stubs."""
    routes = {}
    for e, dummies in chains.items():
        if dummies:
            routes[e] = Route("bend", _bend([(layers.x[d], layers.rank[d]) for d in dummies], rows))
    for e, what in plan.items():
        if what == "stub":
            routes[e] = Route("stub")
        elif what == "bus":
            a, b = pairs[e]
            x, down = layers.x[a], rows.bottoms[layers.rank[a]] + _GAP_Y * 0.35
            gutter, bar = x - layers.left[a] - _GAP_X / 2, rows.tops[layers.rank[b]] - _GAP_Y * 0.55
            into = layers.x[b] + _GAP_X * any(not layers.satellite[j] for j in layers.ins[b])
            if layers.rank[b] - layers.rank[a] == 1:
                points: tuple[Point, ...] = ((x, bar), (into, bar))
            else:
                points = ((x, down), (gutter, down), (gutter, bar), (into, bar))
            routes[e] = Route("bus", points)
    return routes


def _lane_routes(
    lanes: list[int],
    pairs: Sequence[tuple[int, int]],
    rank: list[int],
    rows: _Rows,
    width: float,
) -> dict[int, Route]:
    """Run the longest edges down the right side of all boxes."""
    spans = [(rank[pairs[e][0]], rank[pairs[e][1]]) for e in lanes]
    routes = {}
    for e, (upper, lower), lane in zip(lanes, spans, _assign_lanes(spans), strict=True):
        x = width + _LANE_GAP * (lane + 2)
        y1, y2 = rows.bottoms[upper] + _GAP_Y / 2, rows.tops[lower] - _GAP_Y / 2
        routes[e] = Route("lane", ((x, y1), (x, y2)))
    return routes


def _plan_long_edges(ranking: Ranking, pairs: Sequence[tuple[int, int]]) -> _Plan:
    """Decide how each edge over more than one row runs; edges between neighbours are left out."""
    plan: _Plan = {}
    rank, bends = ranking.rank, 0
    long_of: dict[int, int] = {}
    budget = 4 * len(rank) + 400
    for a, b in pairs:
        if rank[b] - rank[a] > 1 and ranking.is_source[a]:
            long_of[a] = long_of.get(a, 0) + 1
    spans = sorted((rank[b] - rank[a], e) for e, (a, b) in enumerate(pairs))
    for span, e in spans:
        a, b = pairs[e]
        if ranking.home[a] == b and b in ranking.crowds and ranking.is_source[a]:
            plan[e] = "bus"
        elif span <= 1:
            continue  # below 1 it closes a cycle and runs back up
        elif a in long_of and (span > _LEAF_SPAN or long_of[a] > _LEAF_LONG_EDGES):
            plan[e] = "stub"
        elif span > _MAX_SPAN or bends + span > budget:
            plan[e] = "lane"
        else:
            plan[e] = "bend"
            bends += span
    return plan


@dataclass(frozen=True, slots=True)
class _Rows:
    """The upper and lower edge of every row."""

    tops: list[float]
    bottoms: list[float]


def _rows(layers: Layers, heights: list[float]) -> _Rows:
    """Stack the rows, each as high as its highest box."""
    tall = [0.0] * len(layers.rows)
    for i, height in enumerate(heights):
        row = layers.rank[i]
        tall[row] = max(tall[row], height)
    rows, y = _Rows([], []), 0.0
    for height in tall:
        rows.tops.append(y)
        rows.bottoms.append(y + height)
        y += height + _GAP_Y
    return rows


def _bend(dummies: list[tuple[float, int]], rows: _Rows) -> tuple[Point, ...]:
    """Return the corners of an edge through its rows, straight stretches merged."""
    points: list[Point] = []
    for x, row in dummies:
        if points and abs(points[-1][0] - x) < 1:
            points[-1] = (points[-1][0], rows.bottoms[row])
        else:
            points += [(x, rows.tops[row]), (x, rows.bottoms[row])]
    return tuple(points)


def _assign_lanes(spans: list[tuple[int, int]]) -> list[int]:
    """Give intervals of rows the innermost lane that is free, the shortest first."""
    lanes: list[list[tuple[int, int]]] = []
    chosen = [0] * len(spans)
    by_length = sorted(range(len(spans)), key=lambda i: (abs(spans[i][1] - spans[i][0]), i))
    for i in by_length:
        low, high = min(spans[i]), max(spans[i])
        free = (
            lane
            for lane, taken in enumerate(lanes)
            if len(taken) < 64 and all(high < a or b < low for a, b in taken)
        )
        chosen[i] = next(free, len(lanes) if len(lanes) < _MAX_LANES else i % _MAX_LANES)
        if chosen[i] == len(lanes):
            lanes.append([])
        lanes[chosen[i]].append((low, high))
    return chosen


def _pack(parts: list[_Part], frames: list[tuple[float, float]], result: Layout) -> None:
    """Put the parts on shelves, in order, so that the whole is about as wide as a page."""
    if not frames:
        return
    area = sum((w + _PART_GAP) * (h + _PART_GAP) for w, h in frames)
    limit = max(max(w for w, _ in frames), (area * _ASPECT) ** 0.5)
    x = y = shelf = 0.0
    for part, (width, height) in zip(parts, frames, strict=True):
        if x and x + width > limit:
            x, y, shelf = 0.0, y + shelf + _PART_GAP, 0.0
        for node in part.nodes:
            result.x[node] += x
            result.y[node] += y
        for e in part.edges:
            route = result.routes.get(e)
            if route is not None and route.points:
                moved = tuple((px + x, py + y) for px, py in route.points)
                result.routes[e] = Route(route.kind, moved)
        result.width = max(result.width, x + width)
        x += width + _PART_GAP
        shelf = max(shelf, height)
    result.height = y + shelf

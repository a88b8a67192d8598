"""The row of every node: longest paths, with satellites moved next to their consumer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_SHORT_CHAIN = 3
_CROWD = 4
_CROWD_WIDTH = 1000.0
_GRID_WIDTH = 720.0


@dataclass(slots=True)
class Ranking:
    """Rows of a connected graph.

    Attributes
    ----------
    order : list of int
        Every node, inputs first.
    rank : list of int
        The row of each node; the top row is 0.
    is_source : list of bool
        True for a node without inputs that feeds another one.
    satellite : list of bool
        True for a node that stands beside the data, above its consumer.
    home : list of int
        For a satellite its first consumer, otherwise -1.
    crowds : dict of int to list of list of int
        For a consumer of very many leaves those leaves, as rows of a grid above it.
    """

    order: list[int]
    rank: list[int]
    is_source: list[bool]
    satellite: list[bool]
    home: list[int]
    crowds: dict[int, list[list[int]]] = field(default_factory=dict)


def rank_nodes(edges: Sequence[tuple[int, int]], widths: Sequence[float]) -> Ranking:
    """Give every node a row; every edge that closes no cycle leads to a lower row.

    `widths`, one for each node and gaps included, say how many leaves fit in a row.
    """
    count = len(widths)
    order, ins, outs = _neighbours(count, edges)
    position = [0] * count
    for at, i in enumerate(order):
        position[i] = at
    is_source = [bool(outs[i]) and not ins[i] for i in range(count)]
    longest = _longest(order, outs, {})
    feeding: dict[int, list[int]] = {}
    for i in order:
        if is_source[i]:
            first = min(longest[j] for j in outs[i])
            feeding.setdefault(next(j for j in outs[i] if longest[j] == first), []).append(i)
    crowds = _crowds(feeding, widths)
    if crowds:
        longest = _longest(order, outs, {i: len(rows) for i, rows in crowds.items()})
    satellite = _satellites(order, ins, outs, is_source, longest)
    rank, home = longest[:], [-1] * count
    for i in reversed(order):
        if satellite[i]:
            home[i] = min(outs[i], key=lambda j: (rank[j], position[j]))
            rank[i] = rank[home[i]] - 1
    for consumer, rows in crowds.items():
        for above, row in enumerate(reversed(rows), 1):
            for i in row:
                home[i], rank[i] = consumer, rank[consumer] - above
    top = min(rank)
    return Ranking(order, [r - top for r in rank], is_source, satellite, home, crowds)


def _neighbours(
    count: int, edges: Sequence[tuple[int, int]]
) -> tuple[list[int], list[list[int]], list[list[int]]]:
    """Return a topological order and each node's neighbours, without what closes a cycle."""
    outs: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        outs[a].append(b)
    order = _sort(count, outs)
    position = [0] * count
    for at, i in enumerate(order):
        position[i] = at
    ins: list[list[int]] = [[] for _ in range(count)]
    for i in order:
        outs[i] = [j for j in dict.fromkeys(outs[i]) if position[j] > position[i]]
        for j in outs[i]:
            ins[j].append(i)
    return order, ins, outs


def _longest(order: list[int], outs: list[list[int]], steps: dict[int, int]) -> list[int]:
    """Return longest paths; `steps` says how many rows a node needs above it, if not one."""
    longest = [0] * len(order)
    for i in order:
        for j in outs[i]:
            longest[j] = max(longest[j], longest[i] + steps.get(j, 1))
    return longest


def _crowds(feeding: dict[int, list[int]], widths: Sequence[float]) -> dict[int, list[list[int]]]:
    """Arrange the leaves of every consumer that has very many in rows, the last one full."""
    crowds = {}
    for consumer, members in feeding.items():
        if len(members) >= _CROWD and sum(widths[i] for i in members) > _CROWD_WIDTH:
            fitting = int(_GRID_WIDTH / max(widths[i] for i in members))
            per_row = max(3, fitting, round(len(members) ** 0.5 * 0.8))
            start = len(members) % per_row or per_row
            cuts = [0, *range(start, len(members) + 1, per_row)]
            crowds[consumer] = [members[a:b] for a, b in pairwise(cuts)]
    return crowds


def _sort(count: int, outs: list[list[int]]) -> list[int]:
    """Sort topologically; where only cycles are left, open one at its first node."""
    waiting = [0] * count
    for targets in outs:
        for j in targets:
            waiting[j] += 1
    order = [i for i in range(count) if not waiting[i]]
    done = [not w for w in waiting]
    next_closed = 0
    at = 0
    while len(order) < count or at < len(order):
        if at == len(order):
            while done[next_closed]:
                next_closed += 1
            done[next_closed] = True
            order.append(next_closed)
        for j in outs[order[at]]:
            waiting[j] -= 1
            if not waiting[j] and not done[j]:
                done[j] = True
                order.append(j)
        at += 1
    return order


def _satellites(
    order: list[int],
    ins: list[list[int]],
    outs: list[list[int]],
    is_source: list[bool],
    longest: list[int],
) -> list[bool]:
    """Mark leaves and the short chains that only leaves feed and deeper data joins."""
    fed = is_source[:]
    for i in order:
        if not fed[i] and len(outs[i]) == 1 and longest[i] <= _SHORT_CHAIN:
            fed[i] = bool(ins[i]) and all(fed[j] for j in ins[i])
    satellite = is_source[:]
    for i in reversed(order):
        if fed[i] and not is_source[i]:
            consumer = outs[i][0]
            joined = any(longest[j] > longest[i] for j in ins[consumer] if j != i)
            satellite[i] = joined or satellite[consumer]
    return satellite

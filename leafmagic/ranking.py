"""The row of every node: longest paths, with satellites moved next to their consumer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_SHORT_CHAIN = 3
_PER_ROW = 8


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
    """

    order: list[int]
    rank: list[int]
    is_source: list[bool]
    satellite: list[bool]
    home: list[int]


def rank_nodes(count: int, edges: Sequence[tuple[int, int]]) -> Ranking:
    """Give every node a row; every edge that closes no cycle leads to a lower row."""
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
    longest = [0] * count
    for i in order:
        below = longest[i] + 1
        for j in outs[i]:
            longest[j] = max(longest[j], below)
    is_source = [bool(outs[i]) and not ins[i] for i in range(count)]
    satellite = _satellites(order, ins, outs, is_source, longest)
    rank, home = longest[:], [-1] * count
    for i in reversed(order):
        if satellite[i]:
            home[i] = min(outs[i], key=lambda j: (rank[j], position[j]))
            rank[i] = rank[home[i]] - 1
    _stack_crowds(order, rank, home, is_source)
    top = min(rank)
    return Ranking(order, [r - top for r in rank], is_source, satellite, home)


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
    satellite = is_source[:]
    for i in order:
        if fed[i] or len(outs[i]) != 1 or longest[i] > _SHORT_CHAIN:
            continue
        if not all(fed[j] for j in ins[i]):
            continue
        fed[i] = True
        consumer = outs[i][0]
        satellite[i] = any(longest[j] > longest[i] for j in ins[consumer] if j != i)
    for i in reversed(order):  # a link of the chain is none if the chain's end is none
        if satellite[i] and not is_source[i]:
            consumer = outs[i][0]
            joined = any(longest[j] > longest[i] for j in ins[consumer] if j != i)
            satellite[i] = satellite[consumer] or joined
    return satellite


def _stack_crowds(
    order: list[int], rank: list[int], home: list[int], is_source: list[bool]
) -> None:
    """Spread the leaves of a consumer that has very many over several rows."""
    crowd: dict[int, list[int]] = {}
    for i in order:
        if is_source[i] and home[i] >= 0 and rank[i] == rank[home[i]] - 1:
            crowd.setdefault(home[i], []).append(i)
    for members in crowd.values():
        if len(members) <= _PER_ROW + 2:
            continue
        rows = -(-len(members) // _PER_ROW)
        per_row = -(-len(members) // rows)
        for at, i in enumerate(members):
            rank[i] -= rows - 1 - at // per_row

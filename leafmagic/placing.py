"""Positions within rows: means of the neighbours, no overlaps, straight paths."""

from __future__ import annotations

from itertools import pairwise

from leafmagic.ranking import Ranking

_LONG = 24
_STRAIGHTENINGS = 3
_LEANING = 1
_DUMMY_HALF = -5.0  # lines of a bundle may run closer than boxes
_SATELLITE_WEIGHT = 0.02
_BEND_WEIGHT = 0.5
_MAX_PULL = 40.0
_LEAN = 0.8


class Layers:
    """The rows of a ranked graph, with a placeholder in every row an edge crosses.

    Parameters
    ----------
    ranking : Ranking
        Rows and satellites.
    half : list of float
        Half the width of every node.
    gap : float
        Least distance between two boxes of a row.
    """

    def __init__(self, ranking: Ranking, half: list[float], gap: float) -> None:
        count = len(half)
        self.gap = gap
        self.count = count
        self.rank = ranking.rank[:]
        self.satellite = ranking.satellite[:]
        self.home = ranking.home
        self.left, self.right = half[:], half[:]
        self.columns: dict[int, int] = {}
        for home, grid in ranking.crowds.items():
            self.columns[home] = len(grid[-1])
            cell = max(half[i] for row in grid for i in row)
            for row in grid:
                for i in row:
                    self.left[i] = self.right[i] = cell
        self.weight = [_SATELLITE_WEIGHT if s else 1.0 for s in ranking.satellite]
        self.ins: list[list[int]] = [[] for _ in range(count)]
        self.outs: list[list[int]] = [[] for _ in range(count)]
        self.x = [0.0] * count
        self.rows: list[list[int]] = [[] for _ in range(max(self.rank) + 1)]
        for i in ranking.order:
            self.rows[self.rank[i]].append(i)

    def add_edge(self, upper: int, lower: int, *, bend: bool) -> list[int]:
        """Connect two nodes; return the placeholders in the rows between them."""
        made: list[int] = []
        last = upper
        for row in range(self.rank[upper] + 1, self.rank[lower]) if bend else ():
            dummy = len(self.x)
            self.x.append(0.0)
            self.rank.append(row)
            self.satellite.append(False)
            self.left.append(_DUMMY_HALF)
            self.right.append(_DUMMY_HALF)
            self.weight.append(_BEND_WEIGHT)
            self.ins.append([last])
            self.outs.append([])
            self.outs[last].append(dummy)
            self.rows[row].append(dummy)
            made.append(dummy)
            last = dummy
        self.outs[last].append(lower)
        self.ins[lower].append(last)
        return made


def place_layers(layers: Layers) -> None:
    """Set ``layers.x``."""
    placer = _Placer(layers)
    down, up = range(len(layers.rows)), range(len(layers.rows) - 1, -1, -1)
    for row in down:
        placer.place(row, placer.data_ins, fresh=True, rough=True)
    for row in up:
        placer.place(row, layers.outs, rough=True)
    for row in down:
        placer.place(row, placer.data_ins, rough=True)
    paths = placer.find_paths()
    for row in up:
        placer.place(row, placer.path_outs)
    for row in down:
        placer.place(row, placer.path_ins)
    del layers.x[len(layers.rank) :]
    placer.straighten(paths)
    placer.settle_satellites()


class _Placer:
    def __init__(self, layers: Layers) -> None:
        self.layers = layers
        satellite = layers.satellite
        self.data = [[i for i in row if not satellite[i]] for row in layers.rows]
        self.sats = [[i for i in row if satellite[i]] for row in layers.rows]
        self.data_ins = [[j for j in ins if not satellite[j]] for ins in layers.ins]
        self.want = [0.0] * len(layers.x)
        self.weight = layers.weight[:]
        self.path_ins, self.path_outs = self.data_ins, layers.outs
        self.groups = [self._group(row) for row in self.sats]

    def _group(self, row: list[int]) -> list[tuple[int, list[int]]]:
        """Group the satellites of a row by the consumer that they stand above."""
        groups: dict[int, list[int]] = {}
        for i in row:
            groups.setdefault(self.layers.home[i], []).append(i)
        return list(groups.items())

    def place(
        self, row: int, source: list[list[int]], *, fresh: bool = False, rough: bool = False
    ) -> None:
        """Place a row by the mean of its neighbours in `source`; `rough` without satellites."""
        x, want = self.layers.x, self.want
        members = self.data[row]
        for i in members:
            near = source[i]
            if len(near) == 1:
                want[i] = x[near[0]]
            elif near:
                want[i] = sum([x[j] for j in near]) / len(near)
            else:
                want[i] = 0.0 if fresh else x[i]
        members.sort(key=want.__getitem__)
        self._spread(members)
        if self.sats[row] and not rough:
            self._place_satellites(row)

    def _place_satellites(self, row: int) -> None:
        """Put satellites right of the data input they join, or around their consumer."""
        x, want, left, right = self.layers.x, self.want, self.layers.left, self.layers.right
        gap = self.layers.gap
        keys: dict[int, tuple[float, int, int]] = {}
        for i in self.data[row]:
            want[i] = x[i]
            keys[i] = (x[i], 0, 0)
        for group_at, (home, members) in enumerate(self.groups[row], 1):
            anchor, reach = self._anchor(home, row)
            span = sum([left[i] + right[i] + gap for i in members])
            if home in self.layers.columns:  # a grid: its rows are flush left
                span *= self.layers.columns[home] / len(members)
            at = x[home] - (span - gap) / 2 if anchor is None else x[anchor] + reach + gap
            beside = x[home if anchor is None else anchor]
            for k, i in enumerate(members):
                keys[i] = (beside, group_at, k)
                want[i] = at + left[i]
                at += left[i] + right[i] + gap
        self._spread(sorted(keys, key=keys.__getitem__))

    def _anchor(self, home: int, row: int) -> tuple[int | None, float]:
        """Return the data node of a row on the way to `home`, and how far right the way reaches."""
        rank, x, right = self.layers.rank, self.layers.x, self.layers.right
        at, reach = home, right[home] if home in self.layers.columns else 0.0
        while rank[at] > row:
            above = self.data_ins[at]
            if not above:
                return None, 0.0
            at = max(above, key=x.__getitem__)
            reach = max(reach, right[at])
        return (at, reach) if rank[at] == row else (None, 0.0)

    def _spread(self, members: list[int]) -> None:
        """Keep the order and the distances; miss the wanted places by as little as possible.

        Weighted pool-adjacent-violators: neighbours that would overlap are joined to a
        block, which stands at the weighted mean of what its members want.
        """
        x, want, weight = self.layers.x, self.want, self.weight
        if len(members) == 1:
            x[members[0]] = want[members[0]]
            return
        left, right, gap = self.layers.left, self.layers.right, self.layers.gap
        blocks: list[tuple[float, float, int]] = []  # weighted sum, weight, first member
        offsets: list[float] = []
        edge = 0.0
        for k, i in enumerate(members):
            offset = edge + left[i]
            edge = offset + right[i] + gap
            offsets.append(offset)
            w = weight[i]
            total, first = (want[i] - offset) * w, k
            while blocks and blocks[-1][0] * w > total * blocks[-1][1]:
                above, more, first = blocks.pop()
                total += above
                w += more
            blocks.append((total, w, first))
        end = len(members)
        for total, w, first in reversed(blocks):
            at = total / w
            for k in range(first, end):
                x[members[k]] = at + offsets[k]
            end = first

    def find_paths(self) -> list[list[int]]:
        """Find the paths that could be straight; from now on they outweigh what is beside them."""
        x = self.layers.x
        paths = self._paths()
        self.path_ins, self.path_outs = self.data_ins[:], self.layers.outs[:]
        for path in paths:
            pull = min(float(len(path)), _MAX_PULL)
            for i in path:
                self.weight[i] = self.layers.weight[i] * pull
            if len(path) > _LONG:  # a backbone: what follows it must not push it aside
                mast = len(x)
                x.append(sum([x[i] for i in path]) / len(path))
                for i in path:
                    self.path_outs[i] = self.path_ins[i] = [mast]
                continue
            for i, j in pairwise(path):
                self.path_outs[i], self.path_ins[j] = [j], [i]
        return paths

    def straighten(self, paths: list[list[int]]) -> None:
        """Pull every path towards one line."""
        want = self.want
        outside = self._outside(paths)
        goal = want[:]
        for path in paths:
            middle = sum([self.layers.x[i] for i in path]) / len(path)
            for i in path:
                goal[i] = middle
        for members in self.data:  # two paths keep their sides in all rows that they share
            members.sort(key=goal.__getitem__)
        for turn in range(_STRAIGHTENINGS):
            lean = turn < _LEANING
            for path, near in zip(paths, outside, strict=True):
                middle = self._lean(path, near) if lean else self._give_way(path)
                for i in path:
                    goal[i] = middle
            want[:] = goal
            for row, members in enumerate(self.data):
                self._spread(members)
                if self.sats[row]:
                    self._place_satellites(row)
            want[:] = goal

    def _lean(self, path: list[int], near: list[int]) -> float:
        """Return where a path stands between its own middle and what it is linked to.

        The path moves at once, so that the next one sees it there.
        """
        x = self.layers.x
        middle = sum([x[i] for i in path]) / len(path)
        if near:
            share = min(len(near) / len(path), _LEAN)
            middle += share * (sum([x[i] for i in near]) / len(near) - middle)
            for i in path:
                x[i] = middle
        return middle

    def _give_way(self, path: list[int]) -> float:
        """Return where a path stands whole if one of its rows had no room for it."""
        x, want = self.layers.x, self.want
        pushed = max(path, key=lambda i: abs(x[i] - want[i]))
        if abs(x[pushed] - want[pushed]) > 1:
            return x[pushed]
        return sum([x[i] for i in path]) / len(path)

    def _outside(self, paths: list[list[int]]) -> list[list[int]]:
        """Return for every path the data nodes beside it that it is linked to."""
        of = {i: at for at, path in enumerate(paths) for i in path}
        outside = []
        for at, path in enumerate(paths):
            near = [j for i in path for j in self.data_ins[i] if of[j] != at]
            near += [j for i in path for j in self.layers.outs[i] if of.get(j, at) != at]
            outside.append(near)
        return outside

    def _paths(self) -> list[list[int]]:
        """Cut the data nodes into vertical paths, each node going on to one below it."""
        below: dict[int, int] = {}
        taken: set[int] = set()
        for members in self.data:
            for *_, upper, lower in sorted(w for i in members for w in self._wishes(i)):
                if upper not in below and lower not in taken:
                    below[upper] = lower
                    taken.add(lower)
        paths = []
        starts = [i for members in self.data for i in members if i not in taken]
        for start in starts:
            path = [start]
            while path[-1] in below:
                path.append(below[path[-1]])
            paths.append(path)
        return paths

    def _wishes(self, i: int) -> list[tuple[int, int, float, int, int]]:
        """Rank the ways on from a node: long edges first, then only children, then near ones."""
        x, outs, ins, count = self.layers.x, self.layers.outs, self.data_ins, self.layers.count
        return [
            (
                0 if i >= count or j >= count else 1,
                (len(outs[i]) > 1) + (len(ins[j]) > 1),
                abs(x[i] - x[j]),
                i,
                j,
            )
            for j in outs[i]
            if not self.layers.satellite[j]
        ]

    def settle_satellites(self) -> None:
        """Bring satellites to where their consumers ended up."""
        for i in range(self.layers.count):
            if not self.layers.satellite[i]:
                self.weight[i] = max(self.weight[i], 1.0)
        for row in reversed(range(len(self.data))):
            if self.sats[row]:
                self._place_satellites(row)

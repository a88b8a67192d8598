"""Positions within rows: means of the neighbours, no overlaps, straight paths."""

from __future__ import annotations

from leafmagic.ranking import Ranking

_SWEEPS = 3
_STRAIGHTENINGS = 3
_DUMMY_HALF = 4.0
_SATELLITE_WEIGHT = 0.02
_BEND_WEIGHT = 0.5
_MAX_PULL = 40.0


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
    for row in range(len(layers.rows)):
        placer.place(row, placer.data_ins, fresh=True)
    for _ in range(_SWEEPS):
        for row in reversed(range(len(layers.rows))):
            placer.place(row, layers.outs)
        for row in range(len(layers.rows)):
            placer.place(row, placer.data_ins)
    placer.straighten()
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
        self.groups = [self._group(row) for row in self.sats]

    def _group(self, row: list[int]) -> list[tuple[int, list[int]]]:
        """Group the satellites of a row by the consumer that they stand above."""
        groups: dict[int, list[int]] = {}
        for i in row:
            groups.setdefault(self.layers.home[i], []).append(i)
        return list(groups.items())

    def place(self, row: int, source: list[list[int]], *, fresh: bool = False) -> None:
        """Place a row by the mean of its neighbours in `source`."""
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
        if self.sats[row]:
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
            data = [j for j in self.data_ins[home] if self.layers.rank[j] == row]
            if data:
                anchor = max(data, key=x.__getitem__)
                at = x[anchor] + right[anchor] + gap
                keys.update((i, (x[anchor], group_at, k)) for k, i in enumerate(members))
            else:
                width = sum([left[i] + right[i] for i in members]) + gap * (len(members) - 1)
                at = x[home] - width / 2
                keys.update((i, (x[home], group_at, k)) for k, i in enumerate(members))
            for i in members:
                want[i] = at + left[i]
                at += left[i] + right[i] + gap
        self._spread(sorted(keys, key=keys.__getitem__))

    def _spread(self, members: list[int]) -> None:
        """Keep the order and the distances; miss the wanted places by as little as possible.

        Weighted pool-adjacent-violators: neighbours that would overlap are joined to a
        block, which stands at the weighted mean of what its members want.
        """
        x, want, weight = self.layers.x, self.want, self.weight
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

    def straighten(self) -> None:
        """Pull every path that could be a straight line towards one."""
        x, want, weight = self.layers.x, self.want, self.weight
        paths = self._paths()
        for path in paths:
            pull = min(float(len(path)), _MAX_PULL)
            for i in path:
                weight[i] = self.layers.weight[i] * pull
        for _ in range(_STRAIGHTENINGS):
            for path in paths:
                middle = sum([x[i] for i in path]) / len(path)
                for i in path:
                    want[i] = middle
            for row, members in enumerate(self.data):
                self._spread(members)
                if self.sats[row]:
                    self._place_satellites(row)

    def _paths(self) -> list[list[int]]:
        """Cut the data nodes into vertical paths, each node going on to one below it."""
        x, outs, ins = self.layers.x, self.layers.outs, self.data_ins
        satellite, count = self.layers.satellite, self.layers.count
        below: dict[int, int] = {}
        taken: set[int] = set()
        for members in self.data:
            wishes = []
            for i in members:
                for j in outs[i]:
                    if not satellite[j]:
                        bend = (i >= count) + (j >= count)
                        only = (len(outs[i]) > 1) + (len(ins[j]) > 1)
                        wishes.append((-bend // 2, only, abs(x[i] - x[j]), i, j))
            for *_, i, j in sorted(wishes):
                if i not in below and j not in taken:
                    below[i] = j
                    taken.add(j)
        paths = []
        for members in self.data:
            for i in members:
                if i not in taken:
                    path, at = [i], i
                    while at in below:
                        at = below[at]
                        path.append(at)
                    paths.append(path)
        return paths

    def settle_satellites(self) -> None:
        """Bring satellites to where their consumers ended up."""
        for i in range(self.layers.count):
            if not self.layers.satellite[i]:
                self.weight[i] = max(self.weight[i], 1.0)
        for row in reversed(range(len(self.data))):
            if self.sats[row]:
                self._place_satellites(row)

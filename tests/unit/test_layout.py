from __future__ import annotations

import random
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leafmagic.layout import Layout, lay_out

Edges = list[tuple[int, int]]


@st.composite
def dags(draw: st.DrawFn) -> tuple[list[tuple[float, float]], Edges]:
    count = draw(st.integers(1, 40))
    size = st.tuples(st.integers(20, 200), st.integers(20, 50))
    sizes = draw(st.lists(size, min_size=count, max_size=count))
    node = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=3 * count))
    return sizes, [(min(p), max(p)) for p in pairs if p[0] != p[1]]


def assert_no_overlap(layout: Layout, sizes: list[tuple[float, float]]) -> None:
    boxes = sorted(
        (y - h / 2, y + h / 2, x - w / 2, x + w / 2)
        for x, y, (w, h) in zip(layout.x, layout.y, sizes, strict=True)
    )
    for at, (_, bottom, left, right) in enumerate(boxes):
        for top2, _, left2, right2 in boxes[at + 1 :]:
            if top2 >= bottom - 1e-6:
                break
            assert right <= left2 + 1e-6 or right2 <= left + 1e-6


@settings(max_examples=150, deadline=None)
@given(dags())
def test_boxes_do_not_overlap_and_edges_go_down(
    graph: tuple[list[tuple[float, float]], Edges],
) -> None:
    sizes, edges = graph
    layout = lay_out(sizes, edges, tags=[30.0] * len(sizes))
    assert_no_overlap(layout, sizes)
    for upper, lower in edges:
        assert layout.y[upper] + sizes[upper][1] / 2 < layout.y[lower] - sizes[lower][1] / 2
    for x, y, (w, h) in zip(layout.x, layout.y, sizes, strict=True):
        assert w / 2 - 1e-6 <= x <= layout.width - w / 2 + 1e-6
        assert h / 2 - 1e-6 <= y <= layout.height - h / 2 + 1e-6
    for e, route in layout.routes.items():
        ys = [y for _, y in route.points]
        assert ys == sorted(ys)
        assert all(layout.y[edges[e][0]] < y < layout.y[edges[e][1]] for y in ys)


@settings(max_examples=40, deadline=None)
@given(dags())
def test_the_same_graph_gives_the_same_picture(
    graph: tuple[list[tuple[float, float]], Edges],
) -> None:
    assert lay_out(*graph) == lay_out(*graph)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 15), st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40))
def test_cycles_loops_and_double_edges_are_survived(count: int, pairs: Edges) -> None:
    edges = [(a, b) for a, b in pairs if a < count and b < count]
    sizes = [(60.0, 30.0)] * count
    assert_no_overlap(lay_out(sizes, edges), sizes)


def test_nothing() -> None:
    assert lay_out([], []) == Layout([], [])


def test_three_boxes_stand_symmetrically() -> None:
    layout = lay_out([(80, 40), (80, 40), (80, 40)], [(0, 2), (1, 2)])
    assert layout.y[0] == layout.y[1] < layout.y[2]
    assert layout.x[0] + layout.x[1] == pytest.approx(2 * layout.x[2])


def test_a_chain_is_one_straight_line_however_long() -> None:
    count = 100_000
    layout = lay_out([(80, 30)] * count, list(pairwise(range(count))))
    assert max(layout.x) - min(layout.x) < 1
    assert layout.y == sorted(layout.y)


def test_a_weight_stands_right_of_the_data_above_its_consumer() -> None:
    # x -> a -> b -> c, and b takes a weight
    layout = lay_out([(80, 30)] * 5, [(0, 1), (1, 2), (2, 3), (4, 2)])
    assert layout.y[4] == layout.y[1]
    assert layout.x[4] > layout.x[1]
    assert max(layout.x[:4]) - min(layout.x[:4]) < 1


def test_a_short_chain_of_leaves_comes_along() -> None:
    # weight -> T -> addmm, addmm being fed by a long chain
    edges = [*pairwise(range(8)), (8, 9), (9, 7)]
    layout = lay_out([(80, 30)] * 10, edges)
    assert layout.y[9] == layout.y[6]
    assert layout.y[8] == layout.y[5]


def test_a_new_op_moves_no_earlier_row() -> None:
    edges: Edges = [(0, 2), (1, 2), (2, 3)]
    before = lay_out([(80, 30)] * 4, edges)
    after = lay_out([(80, 30)] * 5, [*edges, (3, 4)])
    assert after.y[:4] == before.y


def test_a_shared_leaf_becomes_stubs() -> None:
    steps = 30
    edges = [(0, i) for i in range(1, steps)] + list(pairwise(range(1, steps)))
    layout = lay_out([(80, 30)] * steps, edges, tags=[40.0] * steps)
    kinds = [layout.routes[e].kind for e in range(1, steps - 1)]
    assert kinds == ["stub"] * (steps - 2)
    assert layout.width < 400


def test_a_very_long_edge_runs_beside_everything() -> None:
    edges = [*pairwise(range(60)), (1, 58)]
    layout = lay_out([(80, 30)] * 60, edges)
    route = layout.routes[len(edges) - 1]
    assert route.kind == "lane"
    assert all(x > max(layout.x) + 40 for x, _ in route.points)


def test_a_skip_edge_bends_around_the_boxes() -> None:
    edges = [*pairwise(range(6)), (1, 4)]
    layout = lay_out([(80, 30)] * 6, edges)
    route = layout.routes[len(edges) - 1]
    assert route.kind == "bend"
    for x, y in route.points:
        for bx, by in zip(layout.x[2:4], layout.y[2:4], strict=True):
            assert abs(x - bx) > 40 or abs(y - by) >= 15


def test_a_crowd_of_leaves_is_a_grid() -> None:
    count = 61
    layout = lay_out([(100, 40)] * count, [(i, count - 1) for i in range(count - 1)])
    assert layout.width < 1200
    assert {route.kind for route in layout.routes.values()} == {"bus"}
    assert len({round(x) for x in layout.x[:-1]}) < 10


def test_parts_stand_side_by_side_and_compactly() -> None:
    count = 200
    layout = lay_out([(100, 40)] * count, [])
    assert 0.3 < layout.width / layout.height < 4
    assert_no_overlap(layout, [(100, 40)] * count)
    assert layout.width * layout.height < count * 100 * 40 * 5


def test_a_deep_residual_network_stays_narrow_and_straight() -> None:
    sizes, edges, last = [(60.0, 30.0)], [], 0
    for _ in range(100):
        first = len(sizes)
        sizes += [(60.0, 30.0)] * 5  # weight, conv, bias, conv, add
        edges += [(last, first + 1), (first, first + 1), (first + 1, first + 3),
                  (first + 2, first + 3), (first + 3, first + 4), (last, first + 4)]  # fmt: skip
        last = first + 4
    layout = lay_out(sizes, edges)
    adds = layout.x[5::5]
    assert layout.width < 700
    assert max(adds) - min(adds) < 20


def test_ten_thousand_nodes_take_moments() -> None:
    rng = random.Random(7)  # noqa: S311 - a picture, not a secret
    count = 10_000
    edges = [(i, i + rng.randint(1, 6)) for i in range(count - 6) for _ in range(2)]
    started = time.process_time()
    lay_out([(80, 30)] * count, edges)
    assert time.process_time() - started < 10

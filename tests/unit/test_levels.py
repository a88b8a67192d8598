from __future__ import annotations

import time

import pytest
from handmade import Builder, chain, every_state, network, three

from leafmagic.boxes import elide, op_title, short_op
from leafmagic.levels import LevelGraph, level_graph


def links(level: LevelGraph) -> set[tuple[str, str, str, str]]:
    labels = {box.id: box.label for box in level.boxes}
    return {(labels[k.source], labels[k.target], k.kind, k.label) for k in level.links}


def test_names_level_folds_the_op_into_the_edge() -> None:
    level = level_graph(three().document(), "names")
    assert [box.label for box in level.boxes] == ["w", "x", "y"]
    assert links(level) == {("y", "w", "next", "mul"), ("y", "x", "data", "mul")}


def test_a_computed_box_carries_its_source_and_a_leaf_its_gradient() -> None:
    boxes = {box.label: box.sub for box in level_graph(three().document(), "names").boxes}
    assert boxes == {"w": "[3] · grad 0.325", "x": "[3]", "y": "w * x · [3]"}


def test_a_version_is_shown_where_an_in_place_write_is_news() -> None:
    b = Builder()
    b.leaf("c", "frozen leaf", is_leaf=True, shape=(2,), version=1, writes=(8,))
    b.leaf("w", "leaf", is_leaf=True, requires_grad=True, shape=(2,), version=20, writes=(9,))
    subs = {box.label: box.sub for box in level_graph(b.document(), "names").boxes}
    assert subs == {"c": "[2] · version 1", "w": "[2]"}


def test_ops_level_hangs_a_named_result_under_its_op() -> None:
    level = level_graph(three().graph(), "ops")
    assert links(level) == {
        ("y", "Mul", "output", ""),
        ("Mul", "w", "next", ""),
        ("Mul", "x", "data", ""),
    }
    assert {box.sub for box in level.boxes if box.kind == "op"} == {"line 4"}


def test_a_consumer_hangs_on_the_named_tensor_not_beside_it() -> None:
    b = Builder()
    y = b.made("y", b.op("mul", b.leaf("w")))
    b.made("z", b.op("exp", y))
    assert ("Exp", "y", "next", "") in links(level_graph(b.graph(), "ops"))


def test_every_op_is_drawn_at_ops_and_none_at_names() -> None:
    document = network(4).document()
    ops = {node["id"] for node in document["nodes"] if node["kind"] == "op"}
    assert ops <= {box.id for box in level_graph(document, "ops").boxes}
    assert not ops & {box.id for box in level_graph(document, "names").boxes}


def test_an_unnamed_intermediate_is_not_drawn_but_an_unnamed_root_is() -> None:
    b = Builder()
    inner = b.made("", b.op("mul", b.leaf("w")))
    root = b.made("", b.op("sum", inner), op="sum")
    for level in ("names", "ops"):
        shown = {box.id: box.label for box in level_graph(b.graph(), level).boxes}
        assert inner not in shown
        assert shown[root] == "sum"


def test_a_root_op_whose_tensor_is_gone_still_shows() -> None:
    b = Builder()
    b.op("sum", b.op("mul", b.leaf("w")))
    level = level_graph(b.graph(), "names")
    assert links(level) == {("Sum", "w", "next", "mul")}


def test_the_gradient_stops_at_a_cut() -> None:
    b = Builder()
    y = b.made("y", b.op("mul", b.leaf("w")))
    c = b.leaf("c", "constant")
    b.link(c, y, "cut")
    assert ("c", "y", "cut", "") in links(level_graph(b.graph(), "names"))


def test_a_cut_below_an_unnamed_tensor_stays_a_cut() -> None:
    b = Builder()
    w = b.leaf("w")
    hidden = b.made("", b.op("mul", w))
    c = b.leaf("c", "constant")
    b.link(c, hidden, "cut")
    assert ("c", "w", "cut", "mul") in links(level_graph(b.graph(), "names"))


def test_a_phantom_leaf_hangs_on_its_base_and_a_real_view_does_not_twice() -> None:
    b = Builder()
    w = b.leaf("w")
    p = b.leaf("p", "phantom leaf", base=w)
    b.link(p, w, "base")
    v = b.made("v", b.op("slice", w), base=w)
    b.link(v, w, "base")
    assert links(level_graph(b.graph(), "names")) == {
        ("p", "w", "base", ""),
        ("v", "w", "next", "slice"),
    }


def test_long_paths_are_counted_not_listed() -> None:
    level = level_graph(chain(10).graph(), "names")
    (label,) = {link.label for link in level.links}
    assert label == "mul · mul · mul · mul +6 ops"


def test_what_two_results_share_becomes_one_box() -> None:
    b = Builder()
    shared = b.op("split", b.op("mm", b.leaf("x"), b.leaf("W")))
    for name in "qkv":
        b.made(name, b.op("view", shared))
    level = level_graph(b.graph(), "names")
    assert ("q", "Split", "next", "view") in links(level)
    assert ("Split", "W", "next", "mm") in links(level)
    assert len(level.links) == 5


def test_a_finding_on_a_folded_op_marks_the_box_it_is_folded_into() -> None:
    b = three()
    op = next(node.id for node in b.nodes if node.kind == "op")
    y = b.nodes[-1].id
    b.findings.clear()
    b.find(op, "info")
    b.find(y, "error")
    b.find(None)
    b.find("t999")
    assert level_graph(b.document(), "names").markers == {y: "error"}
    assert level_graph(b.document(), "ops").markers == {y: "error", op: "info"}


def test_carried_edges_are_kept_and_may_close_a_cycle() -> None:
    b = Builder()
    h = b.leaf("h")
    op = b.op("tanh", h)
    y = b.made("y", op)
    b.edges.append(type(b.edges[0])(op, op, carried=True))
    for level in ("names", "ops"):
        carried = [k for k in level_graph(b.graph(), level).links if k.carried]
        assert [(k.source in (op, y), k.target) for k in carried] == [(True, y)]


def test_edges_to_missing_nodes_and_cycles_do_no_harm() -> None:
    b = Builder()
    first, second = b.op("a", "t404"), b.op("b")
    b.link(first, second, "next")
    b.link(second, first, "next")
    for level in ("names", "ops"):
        level_graph(b.graph(), level)


def test_every_state_keeps_its_name() -> None:
    states = {box.label: box.state for box in level_graph(every_state().graph(), "names").boxes}
    assert states == {
        "w": "leaf", "x": "frozen leaf", "r": "retained", "n": "non-leaf", "c": "constant",
        "p": "phantom leaf", "d": "dead name", "loss": "non-leaf",
    }  # fmt: skip


def test_depth_and_time_are_no_problem() -> None:
    started = time.process_time()
    level = level_graph(chain(50_000).graph(), "names")
    assert len(level.boxes) == 5_001
    assert time.process_time() - started < 60


def test_unknown_level() -> None:
    with pytest.raises(ValueError, match="level must be"):
        level_graph(three().graph(), "modules")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "title", "short"),
    [
        ("MulBackward0", "Mul", "mul"),
        ("LogSoftmaxBackward0", "LogSoftmax", "log_softmax"),
        ("torch::autograd::CopySlices", "CopySlices", "copy_slices"),
        ("torch::autograd::CopyBackwards", "Copy", "copy"),
        ("MyFunctionBackward", "MyFunction", "my_function"),
    ],
)
def test_op_names(name: str, title: str, short: str) -> None:
    assert op_title({"name": name}) == title
    assert short_op({"name": name}) == short


def test_elide_keeps_both_ends() -> None:
    assert elide("encoder.layers.11.attention.weight", 16) == "encoder.la….weight"[:10] + "…eight"
    assert len(elide("x" * 100, 16)) == 16
    assert elide("a\n  b", 16) == "a b"

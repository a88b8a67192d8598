from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import pytest
from handmade import (
    Builder,
    chain,
    every_state,
    hostile,
    network,
    network_with_gradients,
    three,
    training_document,
)

from leafmagic.render.payload import build_payload, text_width


def test_the_document_comes_back_whole_with_its_levels() -> None:
    document = three().document()
    before = json.dumps(document)
    payload = build_payload(document)
    assert json.dumps(document) == before
    assert {k: v for k, v in payload.items() if k != "levels"} == document
    assert list(payload["levels"]) == ["names", "ops"]


def test_the_shape_that_renderers_rely_on() -> None:
    for level in build_payload(every_state().document())["levels"].values():
        assert level.keys() == {
            "nodes", "edges", "width", "height", "markers", "breaks", "failed",
        }  # fmt: skip
        for node in level["nodes"]:
            assert {"id", "x", "y", "w", "h", "label", "sub"} == node.keys()
            assert all(isinstance(node[k], int) for k in "xywh")
        for edge in level["edges"]:
            assert {"source", "target", "kind", "label", "carried"} <= edge.keys()
            assert edge.keys() <= {
                "source",
                "target",
                "kind",
                "label",
                "carried",
                "route",
                "points",
            }


def test_it_is_json_and_ids_are_the_documents() -> None:
    payload = build_payload(hostile().document())
    assert json.loads(json.dumps(payload)) == payload
    known = {node["id"] for node in payload["nodes"]}
    for level in payload["levels"].values():
        assert {node["id"] for node in level["nodes"]} <= known


def test_only_the_levels_asked_for() -> None:
    assert list(build_payload(three().document(), levels=("names",))["levels"]) == ["names"]


def test_boxes_hold_their_text_and_results_are_below() -> None:
    payload = build_payload(network(3).document())
    for level in payload["levels"].values():
        at = {node["id"]: node for node in level["nodes"]}
        for node in at.values():
            assert node["w"] >= text_width(node["label"], 12)
            assert node["w"] >= text_width(node["sub"], 9)
        assert all(at[e["target"]]["y"] < at[e["source"]]["y"] for e in level["edges"])


def test_carried_edges_do_not_move_boxes() -> None:
    b = Builder()
    w = b.leaf("w")
    y = b.made("y", b.op("mul", w))
    plain = build_payload(b.document())
    b.link(b.nodes[1].id, b.nodes[1].id, "next", carried=True)
    looped = build_payload(b.document())
    assert looped["levels"]["names"]["nodes"] == plain["levels"]["names"]["nodes"]
    carried = [e for e in looped["levels"]["names"]["edges"] if e["carried"]]
    assert [(e["source"], e["target"]) for e in carried] == [(y, y)]


def test_an_empty_document() -> None:
    payload = build_payload(Builder().document())
    assert payload["levels"]["names"]["nodes"] == []


@pytest.mark.parametrize(("text", "cells"), [("abc", 3), ("変数", 4), ("e\u0301", 1), ("", 0)])
def test_text_width_counts_cells(text: str, cells: int) -> None:
    assert text_width(text, 10) == pytest.approx(cells * 6.02)


def test_a_deep_graph() -> None:
    started = time.process_time()
    payload = build_payload(chain(10_000).document())
    assert len(payload["levels"]["ops"]["nodes"]) == 11_001
    assert time.process_time() - started < 15


def test_layers_can_be_told_apart_by_their_labels() -> None:
    b = Builder()
    names = [f"encoder.layers.{i}.self_attention.{k}.weight" for i in range(3) for k in ("q", "k")]
    for name in names:
        b.leaf(name)
    for level in ("names", "ops"):
        boxes = build_payload(b.document())["levels"][level]["nodes"]
        labels = [box["label"] for box in boxes]
        assert len(set(labels)) == len(names)
        assert all(text.startswith("….") and text.endswith(".weight") for text in labels)
        assert max(map(len, labels)) <= 24


def placed(document: dict[str, Any]) -> list[list[Any]]:
    boxes = [b for level in build_payload(document)["levels"].values() for b in level["nodes"]]
    return [[box[key] for key in ("id", "x", "y", "w", "h")] for box in boxes]


def test_measured_boxes_say_whose_gradient_they_show() -> None:
    builder = network_with_gradients(3)
    levels = build_payload(training_document(builder))["levels"]
    by_id = {node.id: node for node in builder.nodes}
    for level in levels.values():
        for box in level["nodes"]:
            node = by_id[box["id"]]
            held = by_id[box["of"]] if "of" in box else None
            assert (held is None) == (node.state == "frozen leaf")
            if held is not None:
                assert held.stats is not None
                assert held is node or (node.state == "non-leaf" and held.kind == "op")
                assert box["heat"] > 0
                assert box["spark"] > 0


def test_no_trend_on_a_box_of_a_large_graph_nor_after_one_pass() -> None:
    once = training_document(network_with_gradients(2, 1), 1)
    once["training"]["loops"] = []
    for document in (training_document(network_with_gradients(110)), once):
        for box in build_payload(document)["levels"]["ops"]["nodes"]:
            assert box.get("spark", 0) == 0
            assert box.get("heat", 9) > 0


def test_numbers_that_change_while_a_loop_runs_move_nothing() -> None:
    builder = network_with_gradients(4)
    before = placed(training_document(builder, 1, running=True))
    for factor in (0.0, 1e-9, 123456.789, float("nan")):
        for at, node in enumerate(builder.nodes):
            if node.stats is None:
                continue
            norm = node.stats.norm * factor
            gone = node.state == "leaf" and factor == 0
            builder.nodes[at] = replace(
                node,
                stats=replace(node.stats, norm=norm),
                trend=(*node.trend[1:], norm),
                has_grad=node.has_grad and not gone,
                grad_norm=None if gone else node.grad_norm and norm,
                ran=node.ran + 1,
                ran_of=node.ran_of + 1,
                count=node.count + 1,
            )
        assert placed(training_document(builder, 400, running=True)) == before
    assert placed(training_document(builder, 400)) == before


def test_a_gradient_stays_on_its_leaf_while_the_cell_runs_and_no_longer() -> None:
    builder = network_with_gradients(1)
    at = next(i for i, n in enumerate(builder.nodes) if n.state == "leaf")
    node = replace(builder.nodes[at], has_grad=False, grad_norm=None)
    builder.nodes[at] = node
    for running in (True, False):
        boxes = build_payload(training_document(builder, running=running))["levels"]["ops"]["nodes"]
        sub = next(box["sub"] for box in boxes if box["id"] == node.id)
        assert ("grad" in sub) == running


def test_a_gradient_whose_norm_is_known_from_the_pass_has_it_on_its_leaf() -> None:
    builder = network_with_gradients(1)
    at = next(i for i, n in enumerate(builder.nodes) if n.state == "leaf")
    node = replace(builder.nodes[at], grad_norm=None)
    assert node.stats is not None
    builder.nodes[at] = node
    boxes = build_payload(training_document(builder))["levels"]["ops"]["nodes"]
    sub = next(box["sub"] for box in boxes if box["id"] == node.id)
    assert sub == f"[3] · grad {node.stats.norm:.3g}"


def test_a_shape_that_varies_is_said_on_the_box() -> None:
    b = Builder()
    b.leaf("x", shape=(17, 4), shapes=((32, 4), (17, 4)))
    b.leaf("y", shape=(2,), shapes=((3, 1), (2,)))
    subs = [box["sub"] for box in build_payload(b.document())["levels"]["names"]["nodes"]]
    assert subs == ["[17…32, 4]", "[2] varies"]


def test_where_nan_is_born_and_where_the_error_came_from_are_on_every_level() -> None:
    builder = network_with_gradients(2)
    at = {node.op: i for i, node in enumerate(builder.nodes) if node.kind == "op"}
    builder.nodes[at["mul"]] = replace(builder.nodes[at["mul"]], breaks="nan")
    builder.nodes[at["mean"]] = replace(builder.nodes[at["mean"]], failed=True)
    levels = build_payload(training_document(builder))["levels"]
    assert levels["ops"]["breaks"] == {builder.nodes[at["mul"]].id: "nan"}
    assert levels["ops"]["failed"] == [builder.nodes[at["mean"]].id]
    names = {node.id: node.name for node in builder.nodes}
    assert [names[i] for i in levels["names"]["breaks"]] == ["h1"]
    assert [names[i] for i in levels["names"]["failed"]] == ["loss"]

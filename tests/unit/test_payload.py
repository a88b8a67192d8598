from __future__ import annotations

import json
import time

import pytest
from handmade import Builder, chain, every_state, hostile, network, three

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
        assert {"nodes", "edges", "width", "height", "markers"} == level.keys()
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

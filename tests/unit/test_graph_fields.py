"""A node as JSON-ready values has each of its fields, and comes back the same."""

from __future__ import annotations

import dataclasses
import json

from leafmagic.graph import AutogradGraph, Binding, Edge, GradStats, Node

STATS = GradStats(7, 2.5, 1.5, -0.25, 0.5, 1, 8, float("inf"), (0, 1, 2))
NODE = Node(
    "t1", "tensor", "w", "mul", "leaf", (2, 3), "float32", "cpu", True, True, True, 4, 5, 6, 7, 8,
    "Cell In[1]", "w * 2", "net.w", 2, True, float("nan"), "[1]", "[2]",
    (Binding("w", 3), Binding("v", None, False)), "t0", (9, 10), 11, STATS, (1.0, float("inf")), 3,
    "used", 12, 13, 14, 15, False, ((1, 2), (3,)), "nan", True,
)  # fmt: skip


def test_every_field_is_there() -> None:
    assert all(
        getattr(NODE, field.name) != field.default
        for field in dataclasses.fields(Node)
        if field.default is not dataclasses.MISSING
    )
    values = NODE.to_dict()
    plain = dataclasses.asdict(NODE)
    assert set(values) == {*plain, "has_hooks"}
    assert values["names"] == plain["names"]
    assert values["stats"] == {**plain["stats"], "update": "inf"}
    assert {k: v for k, v in values.items() if plain.get(k) == v}.keys() >= plain.keys() - {
        "grad_norm", "stats", "trend",
    }  # fmt: skip


def test_a_graph_comes_back_from_json() -> None:
    edge = Edge("n2", "t1", "cut", 1, True)
    graph = AutogradGraph((NODE,), (edge,))
    again = AutogradGraph.from_dict(json.loads(json.dumps(graph.to_dict())))
    assert again.edges == (edge,)
    (node,) = again.nodes
    assert str(node) == str(NODE)

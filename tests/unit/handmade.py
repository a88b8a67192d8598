"""Graphs written by hand, for the tests of layout and renderers."""

from __future__ import annotations

import json
import math
import random
from dataclasses import asdict, replace
from typing import Any

from leafmagic.graph import AutogradGraph, Binding, Edge, GradStats, Node

HOSTILE = "<script>&\"'\x00]]>"


class Builder:
    """Adds tensors and the ops that made them, one call for each line of an imagined cell."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.edges: list[Edge] = []
        self.findings: list[dict[str, Any]] = []
        self._op_of: dict[str, str] = {}

    def leaf(self, name: str = "", state: str = "leaf", **fields: Any) -> str:
        return self._tensor(name, state, fields)

    def op(self, op: str, *inputs: str, data: tuple[str, ...] = (), line: int | None = None) -> str:
        node_id = f"n{len(self.nodes)}"
        title = f"{op[:1].upper()}{op[1:]}Backward0"
        self.nodes.append(Node(node_id, "op", title, op, "op", line=line))
        self.edges += [Edge(node_id, self._op_of.get(i, i)) for i in inputs]
        self.edges += [Edge(node_id, i, "data") for i in data]
        return node_id

    def made(self, name: str, op_id: str, state: str = "non-leaf", **fields: Any) -> str:
        tensor_id = self._tensor(name, state, fields)
        self.edges.append(Edge(tensor_id, op_id, "output"))
        self._op_of[tensor_id] = op_id
        return tensor_id

    def link(self, source: str, target: str, kind: str, *, carried: bool = False) -> None:
        self.edges.append(Edge(source, target, kind, carried=carried))  # type: ignore[arg-type]

    def find(self, node: str | None, severity: str = "warning", **fields: Any) -> None:
        finding = {
            "kind": "nonleaf_grad", "code": "LM101", "severity": severity,
            "message": "`y.grad` is None", "fix": "y.retain_grad()", "variable": "y", "line": 4,
            "symptom_line": 6, "cell": "Cell In[3]", "count": 1, "node": node,
            "source": "y = w * x", "column": 4, "end_column": 9,
        }  # fmt: skip
        self.findings.append({**finding, **fields})

    def graph(self) -> AutogradGraph:
        return AutogradGraph(tuple(self.nodes), tuple(self.edges))

    def document(self, label: str = "Cell In[3]", **status: Any) -> dict[str, Any]:
        document = {
            "schema_version": 1,
            "leafmagic": "0.1.0",
            "torch": "2.13.0",
            "cell": {"label": label, "source": "%%autograd\ny = w * x"},
            "status": {"running": False, "events": 3, "steps": 1, "error": "", "notes": [],
                       "cut": False, "duration_s": 0.1, "overhead_s": 0.01, **status},
            "nodes": [node.to_dict() for node in self.nodes],
            "edges": [asdict(edge) for edge in self.edges],
            "findings": self.findings,
        }  # fmt: skip
        loaded: dict[str, Any] = json.loads(json.dumps(document))
        return loaded

    def _tensor(self, name: str, state: str, fields: dict[str, Any]) -> str:
        tensor_id = f"t{len(self.nodes)}"
        values = {"shape": (3,), "dtype": "torch.float32", **fields}
        names = (Binding(name, values.get("line")),) if name else ()
        node = Node(tensor_id, "tensor", name, state=state, names=names, **values)
        self.nodes.append(node)
        return tensor_id


def three() -> Builder:
    """``y = w * x`` with a finding on `y`."""
    b = Builder()
    w = b.leaf("w", line=2, has_grad=True, grad_norm=0.325)
    x = b.leaf("x", "frozen leaf", line=3)
    y = b.made("y", b.op("mul", w, data=(x,), line=4), source="w * x", line=4)
    b.find(y)
    return b


def every_state() -> Builder:
    b = Builder()
    w, x = b.leaf("w", has_grad=True, hooks=1), b.leaf("x", "frozen leaf")
    r = b.made("r", b.op("mul", w, data=(x,)), "retained", has_grad=True, grad_norm=2.0)
    n = b.made("n", b.op("exp", r))
    c = b.leaf("c", "constant")
    b.link(c, n, "cut")
    p = b.leaf("p", "phantom leaf", base=w)
    b.link(p, w, "base")
    d = b.leaf("d", "dead name")
    b.made("loss", b.op("sum", n, d), shape=())
    return b


def chain(count: int) -> Builder:
    """A leaf and `count` ops after one another, every tenth result named."""
    b = Builder()
    last = b.leaf("w")
    for i in range(count):
        op = b.op("mul", last, line=i)
        last = b.made(f"y{i}", op) if i % 10 == 9 else op
    return b


def network(layers: int) -> Builder:
    """Residual layers with three parameters each."""
    b = Builder()
    h = b.leaf("x", "frozen leaf", shape=(8, 64))
    for i in range(layers):
        w, bias, scale = (b.leaf(f"layer{i}.{n}", has_grad=True, grad_norm=0.1 * i)
                          for n in ("weight", "bias", "scale"))  # fmt: skip
        flat = b.op("t", w)
        out = b.op("addmm", bias, flat, h) if i else b.op("addmm", bias, flat, data=(h,))
        op = b.op("relu", b.op("mul", out, scale), h) if i else b.op("relu", out)
        h = b.made(f"h{i}", op, source=f"F.relu(layer{i}(h{i - 1}))", line=9)
    b.made("loss", b.op("mean", h), shape=(), source="h.mean()")
    return b


def hostile() -> Builder:
    b = Builder()
    w = b.leaf(HOSTILE, preview=HOSTILE, cell=HOSTILE)
    y = b.made("very_long_" * 40, b.op("mul", w), source=HOSTILE * 20, line=1)
    b.find(y, message=HOSTILE, fix=HOSTILE, source=HOSTILE, cell=HOSTILE, code=HOSTILE)
    return b


def network_with_gradients(layers: int, steps: int = 120) -> Builder:
    """Residual layers as a training loop leaves them: each measured, the deep ones least."""
    b = network(layers)
    rng = random.Random(7)  # noqa: S311
    for at, node in enumerate(b.nodes):
        if node.state == "frozen leaf" or (node.kind == "tensor" and node.state != "leaf"):
            continue
        depth = 1 - at / len(b.nodes)
        norms = [10 ** (-4 * depth + rng.gauss(0, 0.2)) / (1 + i / 20) for i in range(32)]
        trend = norms[-min(steps, 32) :]
        leaf = node.state == "leaf"
        b.nodes[at] = replace(
            node,
            grad_norm=trend[-1] if leaf else None,
            trend=tuple(trend),
            stats=_measured(steps, trend[-1], leaf),
            is_leaf=leaf,
            requires_grad=True,
            passes=int(leaf),
            grad_state="used" if leaf else "",
            stepped_line=12 if leaf else None,
            cleared_line=9 if leaf else None,
            ran=steps,
            ran_of=steps,
            count=steps,
        )
    return b


def _measured(step: int, norm: float, leaf: bool) -> GradStats:
    bars = tuple(round(400 * math.exp(-((k - 6) ** 2) / 5)) for k in range(12))
    update = norm / 80 if leaf else None
    return GradStats(step, norm, norm / 6, norm / 900, 0.125, 0, 2048, update, bars)


def training_document(
    b: Builder, steps: int = 120, roots: int = 1, frozen: int = 0, **status: Any
) -> dict[str, Any]:
    """Return the document of a loop that ran `steps` times, with `roots` losses.

    The first `frozen` parameters are frozen, and the last is never reached.
    """
    document = b.document(steps=steps, **status)
    boxes = [node.id for node in b.nodes]
    losses = [node.id for node in b.nodes if node.name == "loss"]
    names = ["loss"] if roots == 1 else [f"loss_{'dgxyz'[i]}" for i in range(roots)]
    part = max(1, len(boxes) // roots)
    document["training"] = {
        "steps": steps,
        "per_s": 35.2,
        "sampled": {"passes": max(1, steps // 5), "of": steps, "share": 0.031, "cut": 0},
        "loops": [
            {"what": "range", "line": 4, "done": 3, "total": 10},
            {"what": "DataLoader", "line": 5, "done": steps, "total": 4 * steps},
        ],
        "roots": [
            {
                "key": f"p{i}", "name": name, "line": 12 + 8 * i,
                "node": losses[0] if losses else None, "steps": steps, "last": _curve(steps, i)[-1][1],
                "curve": _curve(steps, i), "nodes": boxes[part * i : part * (i + 1) + 3],
            }
            for i, name in enumerate(names)
        ],
        "parameters": _parameters(b, frozen),
    }  # fmt: skip
    loaded: dict[str, Any] = json.loads(json.dumps(document))
    return loaded


def _curve(steps: int, seed: int) -> list[list[float]]:
    rng = random.Random(seed)  # noqa: S311
    every = max(1, steps // 200)
    shape = [(i, 2.3 * math.exp(-4 * i / steps) + 0.05) for i in range(1, steps + 1, every)]
    return [[i, round(value * (1 + rng.gauss(0, 0.06)), 5)] for i, value in shape]


def _parameters(b: Builder, frozen: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for node in b.nodes:
        if node.state != "leaf":
            continue
        stats = node.stats
        rows.append({
            "id": node.id, "name": node.name, "module": node.name.rpartition(".")[0],
            "shape": list(node.shape or ()), "size": math.prod(node.shape or ()),
            "norm": stats.norm if stats else None, "update": stats.update if stats else None,
            "trend": list(node.trend), "passes": node.passes, "state": "trained",
        })  # fmt: skip
    for row in rows[:frozen]:
        row.update(norm=None, update=None, trend=[], passes=0, state="frozen")
    if len(rows) > 1:
        rows[-1].update(norm=None, update=None, trend=[], passes=0, state="never reached", id=None)
    return rows

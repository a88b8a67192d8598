"""The attributes and functions that later work builds on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx
import pytest
import torch
from tracing_kit import check_well, run_traced

import leafmagic

CELL = """
w = torch.ones(3, requires_grad=True)
net = torch.nn.Linear(3, 2)
h = net(w * 2)
h.retain_grad()
h.register_hook(lambda g: g)
loss = h.sum()
loss.backward()
frozen = torch.ones(2)
k = frozen + h.detach()
bad = loss.grad
"""
NODE = {
    "kind", "name", "op", "state", "shape", "dtype", "device", "is_leaf", "requires_grad",
    "retains_grad", "version", "line", "source", "module", "has_hooks", "grad_norm",
}  # fmt: skip
FINDING = {
    "kind", "code", "severity", "message", "fix", "variable", "line", "symptom_line", "cell", "count",
}  # fmt: skip


@pytest.fixture(scope="module")
def ran() -> Any:
    ran = run_traced(CELL)
    check_well(ran)
    return ran


def test_findings(ran: Any) -> None:
    findings = ran.trace.findings
    assert isinstance(findings, tuple)
    (one,) = findings
    assert all(hasattr(one, name) for name in FINDING)
    assert (one.kind, one.variable, one.symptom_line) == ("nonleaf_grad_read", "loss", 11)
    assert one.severity in ("error", "warning", "info")
    assert one.code.startswith("LM")
    assert one.cell == ran.trace.cell.label
    with pytest.raises(AttributeError):
        one.kind = "other"


def test_findings_are_ordered_by_line() -> None:
    ran = run_traced(
        "w = torch.ones(2, requires_grad=True)\na = w * 2\nb = w * 3\n(a + b).sum().backward()\nb.grad\na.grad\nb.grad\n"
    )
    assert [(f.line, f.count) for f in ran.trace.findings] == [(2, 1), (3, 2)]


def test_networkx(ran: Any) -> None:
    graph = ran.trace.graph.to_networkx()
    assert isinstance(graph, networkx.MultiDiGraph)
    for _, values in graph.nodes(data=True):
        assert values.keys() >= NODE
        assert values["kind"] in ("tensor", "op")
    by_name = {v["name"]: v for _, v in graph.nodes(data=True) if v["kind"] == "tensor"}
    assert by_name["w"]["state"] == "leaf"
    assert by_name["w"]["grad_norm"] == pytest.approx(ran.ns["w"].grad.norm().item())
    assert by_name["h"]["state"] == "retained"
    assert by_name["h"]["has_hooks"] is True
    assert by_name["h"]["grad_norm"] == pytest.approx(2**0.5)
    assert by_name["loss"]["state"] == "non-leaf"
    assert by_name["loss"]["grad_norm"] is None
    assert by_name["net.weight"]["module"] == "net.weight"
    assert by_name["frozen"]["state"] == "frozen leaf"
    assert by_name["k"]["state"] == "constant"
    assert by_name["h"]["shape"] == (2,)
    assert (by_name["h"]["dtype"], by_name["h"]["device"]) == ("float32", "cpu")
    ids = set(graph.nodes)
    assert all(a in ids and b in ids for a, b in graph.edges())


def test_edges_run_from_loss_to_leaf(ran: Any) -> None:
    graph = ran.trace.graph.to_networkx()
    name = {i: v["name"] for i, v in graph.nodes(data=True)}
    loss = next(i for i, n in name.items() if n == "loss")
    reached = networkx.descendants(graph, loss)
    assert {"w", "net.weight", "net.bias"} <= {name[i] for i in reached}


def test_node_ids_are_unique_and_edges_too(ran: Any) -> None:
    graph = ran.trace.graph
    assert len({n.id for n in graph.nodes}) == len(graph.nodes)
    assert len(set(graph.edges)) == len(graph.edges)


def test_round_trip(ran: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    ran.trace.save(path)
    back = leafmagic.load(path)
    assert back.graph == ran.trace.graph
    assert back.findings == ran.trace.findings
    assert json.loads(back.to_json()) == json.loads(ran.trace.to_json())
    assert not back.running
    second = tmp_path / "again.json"
    back.save(second)
    assert leafmagic.load(second).graph == back.graph


def test_json_is_plain(ran: Any) -> None:
    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    json.loads(ran.trace.to_json(), parse_constant=refuse)


def test_json_stays_plain_with_infinite_gradients() -> None:
    ran = run_traced(
        "w = torch.zeros(2, requires_grad=True)\n(w.sqrt() * torch.tensor([1., float('nan')])).sum().backward()"
    )
    check_well(ran)

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    json.loads(ran.trace.to_json(), parse_constant=refuse)


@pytest.mark.parametrize("ending", [".svg", ".html", ".json", ".dot", ".SVG"])
def test_save(ran: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"größe{ending}"
    ran.trace.save(path)
    assert "loss" in path.read_text(encoding="utf-8")
    ran.trace.save(str(path))


@pytest.mark.parametrize("ending", [".png", "", ".svg.gz"])
def test_other_endings_are_refused(ran: Any, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"trace{ending}"
    with pytest.raises(ValueError, match="must end in"):
        ran.trace.save(path)
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    ["", "{}", "[]", "null", "not json", '{"schema_version": "1"}', '{"schema_version": 99}'],
)
def test_load_refuses_what_is_no_trace(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"trace|newer"):
        leafmagic.load(path)


def test_load_of_a_damaged_trace(ran: Any, tmp_path: Path) -> None:
    document = json.loads(ran.trace.to_json())
    del document["edges"]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    with pytest.raises(ValueError, match="trace"):
        leafmagic.load(path)


def test_load_of_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        leafmagic.load(tmp_path / "none.json")


def test_last_is_the_newest() -> None:
    with leafmagic.trace() as one:
        assert leafmagic.last() is one
    with leafmagic.trace() as two:
        pass
    assert leafmagic.last() is two


def test_graph_of_is_not_the_last_trace() -> None:
    with leafmagic.trace() as one:
        w = torch.ones(2, requires_grad=True)
    leafmagic.graph_of(w * 2)
    assert leafmagic.last() is one


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"colour": "red"}, TypeError),
        ({"grads": "all"}, ValueError),
        ({"mode": "loud"}, ValueError),
        ({"ignore": ("no_such_kind",)}, ValueError),
        ({"ignore": "leaf_inplace"}, (TypeError, ValueError)),
        ({"retain": "h"}, (TypeError, ValueError)),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], error: Any) -> None:
    with pytest.raises(error):
        leafmagic.trace(**options)


def test_ignore_by_kind_and_by_code() -> None:
    assert run_traced(CELL, ignore=("nonleaf_grad_read",)).trace.findings == ()
    assert run_traced(CELL, ignore=("LM101",)).trace.findings == ()


def test_strict_outside_ipython() -> None:
    """The block fails after it ran, if there are warnings."""
    from leafmagic.errors import StrictError

    def block() -> None:
        with leafmagic.trace(strict=True):
            w = torch.ones(2, requires_grad=True)
            h = w * 2
            h.sum().backward()
            _ = h.grad

    with pytest.raises(StrictError, match="line"):
        block()
    assert torch._C._len_torch_function_stack() == 0


def test_grads_off() -> None:
    ran = run_traced(CELL, grads="off")
    assert ran.node("w").grad_norm is None
    assert ran.node("w").has_grad is True


@pytest.mark.parametrize("place", ["module", "function", "loop", "attribute"])
def test_retain(place: str) -> None:
    text = {
        "module": "h = w * 2\nh.sum().backward()\ngrads = [h.grad]",
        "function": "def f():\n    h = w * 2\n    h.sum().backward()\n    return [h.grad]\ngrads = f()",
        "loop": "grads = []\nfor i in range(3):\n    h = w * 2\n    h.sum().backward()\n    grads.append(h.grad)",
        "attribute": "class A:\n    pass\na = A()\na.h = h = w * 2\na.h.sum().backward()\ngrads = [a.h.grad]",
    }[place]
    ran = run_traced(f"w = torch.ones(2, requires_grad=True)\n{text}", retain=("h",))
    check_well(ran)
    assert all(g is not None and g.tolist() == [1, 1] for g in ran.ns["grads"])
    assert ran.found == set()
    assert ran.node("h").state == "retained"


NET = """import torch.nn.functional as F
class Act(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
class N(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.act, self.fc2 = torch.nn.Linear(2, 3), Act(), torch.nn.Linear(3, 1)
        self.enc = torch.nn.Sequential(self.fc1, torch.nn.Sequential(torch.nn.Tanh(), Act()))
        self.rnn = torch.nn.LSTM(2, 3)
    def forward(self, x):
        {body}
net = N()
x = torch.ones(4, 2)
"""


def through(line: str, use: str = "self.fc2(h)") -> str:
    body = f"{line}\n        self.h = h\n        return {use}"
    return NET.replace("{body}", body) + "net(x).sum().backward()\ngrad = net.h.grad"


@pytest.mark.parametrize(
    "cell",
    [
        through("h = self.fc1(x)"),
        through("h = self.act(self.fc1(x))"),
        through("h = self.enc(x)"),
        through("h: torch.Tensor = self.enc(x)"),
        through("h, _ = self.rnn(x)"),
        through("(h := self.fc1(x))", "h.exp()"),
        through("h = (lambda t: self.enc(t))(x)"),
        through("h = [self.fc1(x)][0]", "self.fc2(F.relu(h))"),
        through("h = x")
        .replace("self.h = h", "for layer in (self.fc1, self.act):\n            h = layer(h)\n        self.h = h"),
        NET.replace("{body}", "return x")
        + "def f(m, x):\n    h = m[1](m[0](x))\n    return h.grad_fn and (h, h.sum())\n"
        + "h, loss = f(net.enc, x)\nloss.backward()\ngrad = h.grad",
    ],
)  # fmt: skip
def test_retain_what_a_module_makes_inside_a_function(cell: str) -> None:
    ran = run_traced(cell, retain=("h",))
    check_well(ran)
    assert ran.ns["grad"] is not None
    retained = [n for n in ran.trace.graph.nodes if n.state == "retained"]
    assert len(retained) == (2 if "for layer" in cell else 1)
    hooks = torch.nn.modules.module
    assert not hooks._global_forward_hooks
    assert not hooks._global_forward_pre_hooks


def test_retain_in_a_script() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))

    def f(x: torch.Tensor) -> torch.Tensor:
        h = net[0](x)
        net.h = h
        return net[1](h)

    with leafmagic.trace(retain=["h", "k"]) as trace:
        f(torch.ones(1, 2)).sum().backward()
    assert net.h.grad is not None
    assert trace.document()["status"]["notes"] == ["nothing called `k` was retained"]
    with leafmagic.trace(retain=["h"]) as trace:
        h = net[0](torch.ones(1, 2))
        net[1](h).sum().backward()
    assert h.grad is not None
    assert trace.document()["status"]["notes"] == []


def test_retain_of_names_that_cannot() -> None:
    ran = run_traced(
        "h = 3\nk = torch.ones(2)\nw = torch.ones(2, requires_grad=True)\ny = w * 2",
        retain=("h", "k", "w", "no"),
    )
    check_well(ran)


def test_graph_of() -> None:
    w = torch.ones(2, requires_grad=True)
    h = (w * 2).relu()
    graph = leafmagic.graph_of(h, h.sum())
    ops = [n.name for n in graph.nodes if n.kind == "op"]
    assert sorted(ops) == ["MulBackward0", "ReluBackward0", "SumBackward0"]
    assert [n.state for n in graph.nodes if n.is_leaf] == ["leaf"]
    assert torch._C._len_torch_function_stack() == 0


@pytest.mark.parametrize("value", [3, None, "w", [torch.ones(1)]])
def test_graph_of_refuses_what_is_no_tensor(value: Any) -> None:
    with pytest.raises(TypeError):
        leafmagic.graph_of(value)


def test_graph_of_changes_nothing() -> None:
    w = torch.ones(2, requires_grad=True)
    h = w * 2
    version, attributes = h._version, dict(h.__dict__)
    leafmagic.graph_of(h)
    assert (h._version, h.__dict__, h.retains_grad, w.grad) == (version, attributes, False, None)
    h.sum().backward()
    assert w.grad is not None


def test_revision_grows() -> None:
    with leafmagic.trace() as trace:
        first = trace.revision
        w = torch.ones(2, requires_grad=True)
        second = trace.revision
        (w * 2).sum().backward()
        third = trace.revision
        assert trace.running
    assert first < second < third < trace.revision
    assert trace.revision == trace.revision
    assert not trace.running


def test_document_while_it_runs_and_after() -> None:
    with leafmagic.trace() as trace:
        w = torch.ones(2, requires_grad=True)
        document = trace.document()
        assert document["status"]["running"] is True
        _ = w * 2
    after = trace.document()
    assert after["status"]["running"] is False
    assert after["status"]["error"] == ""
    assert after["schema_version"] == 1
    assert after["leafmagic"] == leafmagic.__version__
    assert after["torch"] == torch.__version__
    assert after["status"].keys() >= {
        "running", "events", "steps", "duration_s", "overhead_s", "error", "notes", "cut",
    }  # fmt: skip
    assert after == trace.document()


def test_error_is_in_the_status() -> None:
    ran = run_traced("torch.ones(2) @ torch.ones(3)")
    assert ran.trace.document()["status"]["error"].startswith("RuntimeError: ")


def test_a_trace_can_be_pickled_and_shown_later(ran: Any) -> None:
    bundle = ran.trace._repr_mimebundle_()
    assert "loss" in bundle["text/plain"]
    assert "<" in bundle["text/html"]
    assert "tensors" in repr(ran.trace)


def test_starting_again_is_a_fresh_trace_or_refused() -> None:
    trace = leafmagic.trace()
    with trace:
        a = torch.ones(2, requires_grad=True) * 2
    first = len(trace.graph.nodes)
    with trace:
        b = a * 3
    assert b.requires_grad
    assert len(trace.graph.nodes) >= first
    assert trace.document()["status"]["notes"] == []

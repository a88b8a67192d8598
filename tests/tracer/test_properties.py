"""Random autograd programs: the trace changes nothing, and its graph is torch's graph."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tracing_kit import Ran, assert_same, run_plain, run_traced

NAMES = ["a", "b", "c", "d"]
"""Few names, so that they are rebound all the time. Every tensor has shape (4, 3)."""

START = """a = torch.linspace(-1, 1, 12).reshape(4, 3).requires_grad_()
b = torch.linspace(0.5, 2, 12).reshape(4, 3)
c = torch.full((4, 3), 0.7, requires_grad=True)
d = a * 2
outs = []
"""
UNARY = [
    "{x}.exp().clamp(max=3)", "torch.tanh({x})", "{x}.relu()", "-{x}", "{x} * 0.5", "{x}.T.T",
    "{x}.reshape(12).view(4, 3)", "{x}.detach()", "{x}.clone()", "{x}.flip(0)", "{x} - {x}.mean()",
    "{x}.softmax(1)", "torch.nn.functional.dropout({x}, 0.3)", "{x}.unsqueeze(0).squeeze(0)",
    "{x}.contiguous()", "{x}.to(torch.float64).to(torch.float32)", "torch.cat([{x}[:2], {x}[2:]])",
    "torch.stack({x}.unbind())", "{x}.sigmoid() + 1", "{x}.data", "{x}",
    "{x}.sort(dim=0).values", "torch.nn.functional.layer_norm({x}, (3,))", "{x}.expand(4, 3)",
    "torch.nn.functional.linear({x}, torch.eye(3))", "{x}.max(1, keepdim=True).values + {x}",
    "{x}.detach().requires_grad_()", "torch.nn.functional.gelu({x}[None])[0]",
]  # fmt: skip
BINARY = [
    "{x} + {y}", "{x} * {y}", "{x} - 2 * {y}", "torch.where({y} > 0, {x}, {y})", "torch.maximum({x}, {y})",
    "{x} @ {y}.T @ {x}", "torch.add({x}, {y}, alpha=2)", "torch.lerp({x}, {y}, 0.3)",
    "sum([{x}, {y}, {x}])", "torch.einsum('ij,ij->ij', {x}, {y})",
]  # fmt: skip
STATEMENTS = [
    "{z}.add_(1)", "{z} *= 0.5", "{z}[0] = 0.5", "{z}[1:].mul_(0.9)", "{z}.clamp_(-2, 2)",
    "{z}[:, 0].copy_({x}[:, 1])", "{z}.relu_()", "{z}.retain_grad()", "{z}.requires_grad_()",
    "{z}.register_hook(lambda g: g * 2)", "{z}, {w} = {w}, {z}", "outs.append({z})",
    "{z} = {w}", "{z}.sum().backward(retain_graph=True)", "({z} * {w}).mean().backward(retain_graph=True)",
    "torch.autograd.grad({z}.sum(), {w}, retain_graph=True, allow_unused=True)",
    "{z}.data.mul_(0.9)", "{z}.grad = None", "{z}.detach_()", "v, u = {z}.split(2)", "v = {z}[1]",
    "del {z}; {z} = torch.ones(4, 3, requires_grad=True)", "{z}.requires_grad_(False)",
    "torch.nn.init.uniform_({z})",
]  # fmt: skip
BLOCKS = [
    "{body}", "with torch.no_grad():\n{body}", "for i in range(3):\n{body}", "if True:\n{body}",
    "with torch.enable_grad():\n{body}", "try:\n{body}\nexcept ZeroDivisionError:\n    pass",
    "def f():\n    global a, b, c, d, v, u\n{body}\nf()",
]  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> str:
    name = st.sampled_from(NAMES)
    words = {key: draw(name) for key in ("x", "y", "z", "w")}
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return f"{words['z']} = " + draw(st.sampled_from(UNARY)).format(**words)
    if kind == 1:
        return f"{words['z']} = " + draw(st.sampled_from(BINARY)).format(**words)
    return draw(st.sampled_from(STATEMENTS)).format(**words)


@st.composite
def programs(draw: st.DrawFn) -> str:
    text = START
    for _ in range(draw(st.integers(1, 5))):
        block = draw(st.sampled_from(BLOCKS))
        body = draw(st.lists(lines(), min_size=1, max_size=3))
        indent = "" if block == "{body}" else "    "
        # What torch refuses is a part of the program, too: it goes on behind it.
        guarded = [
            part
            for line in body
            for part in (
                f"{indent}try:",
                f"{indent}    {line}",
                f"{indent}except RuntimeError as e:",
                f"{indent}    outs.append(str(e)[:60])",
            )
        ]
        text += block.format(body="\n".join(guarded)) + "\n"
    return text + "a = a + 0; b = b + 0\n"


COMMON = settings(
    deadline=None,
    max_examples=40,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def run_both(text: str) -> tuple[Ran, Ran]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run_plain(text), run_traced(text)


def forbidden(ns: dict[str, Any]) -> bool:
    """Tell whether a variable is a view that torch refuses to look at, as its base changed."""
    for value in ns.values():
        if isinstance(value, torch.Tensor):
            try:
                _ = value.grad_fn
            except RuntimeError:
                return True
    return False


@COMMON
@given(programs())
def test_the_trace_changes_nothing(text: str) -> None:
    plain, traced = run_both(text)
    assert (plain.error is None) == (traced.error is None)
    assert traced.notes == []
    if not forbidden(plain.ns):
        plain.ns["outs"] = [o for o in plain.ns["outs"] if isinstance(o, str)] + [
            o for o in plain.ns["outs"] if isinstance(o, torch.Tensor)
        ]
        traced.ns["outs"] = [o for o in traced.ns["outs"] if isinstance(o, str)] + [
            o for o in traced.ns["outs"] if isinstance(o, torch.Tensor)
        ]
        assert [o for o in plain.ns["outs"] if isinstance(o, str)] == [
            o for o in traced.ns["outs"] if isinstance(o, str)
        ]
        plain.ns.pop("e", None)
        traced.ns.pop("e", None)
        assert_same(plain, traced)


def walk(tensor: torch.Tensor) -> tuple[list[str], list[tuple[str, str, int]], list[int]]:
    """Walk `next_functions`: names of nodes, edges by name, ids of leaves."""
    names: list[str] = []
    edges: list[tuple[str, str, int]] = []
    leaves: list[int] = []
    assert tensor.grad_fn is not None
    seen = {tensor.grad_fn}
    stack = [tensor.grad_fn]
    while stack:
        node = stack.pop()
        names.append(node.name())
        for child, number in node.next_functions:
            if child is None:
                continue
            if hasattr(child, "variable"):
                edges.append((node.name(), "leaf", number))
                if id(child.variable) not in leaves:
                    leaves.append(id(child.variable))
                continue
            edges.append((node.name(), child.name(), number))
            if child not in seen:
                seen.add(child)
                stack.append(child)
    return names, edges, leaves


def drawn(graph: Any, start: str) -> tuple[list[str], list[tuple[str, str, int]], list[Any]]:
    """Walk the same way through the trace's graph, from a tensor's node id."""
    by_id = {node.id: node for node in graph.nodes}
    ahead: dict[str, list[Any]] = {}
    for edge in graph.edges:
        ahead.setdefault(edge.source, []).append(edge)
    names: list[str] = []
    edges: list[tuple[str, str, int]] = []
    leaves: list[Any] = []
    (first,) = (e.target for e in ahead.get(start, []) if e.kind == "output")
    seen, stack = {first}, [first]
    while stack:
        current = by_id[stack.pop()]
        names.append(current.name)
        for edge in ahead.get(current.id, []):
            if edge.kind != "next":
                continue
            target = by_id[edge.target]
            if target.kind == "tensor":
                edges.append((current.name, "leaf", edge.output_nr))
                if target not in leaves:
                    leaves.append(target)
                continue
            edges.append((current.name, target.name, edge.output_nr))
            if target.id not in seen:
                seen.add(target.id)
                stack.append(target.id)
    return names, edges, leaves


def straight(text: str) -> bool:
    """Tell whether no line runs twice: then nothing is folded, and graphs can be compared."""
    return "for i in" not in text


@COMMON
@given(programs().filter(straight))
def test_the_graph_is_torchs_own(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran = run_traced(text)
    assert ran.notes == []
    if ran.error is not None:
        raise ran.error
    graph = ran.trace.graph
    for name in NAMES:
        value = ran.ns[name]
        try:
            node = value.grad_fn
        except RuntimeError:
            continue
        shown = graph.named(name)
        assert shown.requires_grad == value.requires_grad, name
        assert shown.is_leaf == value.is_leaf, name
        assert shown.retains_grad == value.retains_grad, name
        assert shown.version == value._version, name
        assert shown.hooks == len(value._backward_hooks or ()), name
        assert shown.shape == tuple(value.shape), name
        if node is None:
            base = value._base
            phantom = base is not None and base.requires_grad
            if value.requires_grad:
                assert shown.state == ("phantom leaf" if phantom else "leaf"), name
            else:
                assert shown.state in ("frozen leaf", "constant"), name
            continue
        assert shown.state == ("retained" if value.retains_grad else "non-leaf"), name
        names, edges, leaves = walk(value)
        ours, our_edges, our_leaves = drawn(graph, shown.id)
        assert Counter(ours) == Counter(names), name
        # An edge that a node has twice (x * x) is drawn once.
        assert set(our_edges) == set(edges), name
        assert len(our_leaves) == len(leaves), name
        assert all(leaf.is_leaf for leaf in our_leaves)


FOLDED = {
    "linear, three dimensions": ("net = torch.nn.Linear(3, 2)", "net(torch.ones(2, 4, 3)).sum()"),
    "linear, one dimension": ("net = torch.nn.Linear(3, 2)", "net(torch.ones(3)).sum()"),
    "mlp": (
        "net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))",
        "net(torch.ones(2, 3)).pow(2).mean()",
    ),
    "cnn": (
        "net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(inplace=True))",
        "net(torch.ones(2, 1, 6, 6)).sum()",
    ),
    "lstm": ("net = torch.nn.LSTM(2, 3, batch_first=True)", "net(torch.ones(1, 4, 2))[0].sum()"),
    "attention": (
        "net = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)",
        "net(torch.ones(1, 3, 4)).sum()",
    ),
    "embedding": ("net = torch.nn.Embedding(4, 2)", "net(torch.tensor([1, 2])).norm()"),
    "functional": ("w = torch.ones(3, requires_grad=True)", "torch.nn.functional.softplus(w[None]).log().sum()"),
    "einsum": ("w = torch.ones(3, 3, requires_grad=True)", "torch.einsum('ij,jk->ik', w, w).trace()"),
    "custom function": (
        "class Twice(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return x * 2\n"
        "    @staticmethod\n    def backward(ctx, g):\n        return g * 2\nw = torch.ones(3, requires_grad=True)",
        "(Twice.apply(w) * Twice.apply(w * 1)).sum()",
    ),
    "same input twice": ("w = torch.ones(3, requires_grad=True)", "(w * w + w).sum()"),
    "multi-output": ("w = torch.ones(4, requires_grad=True)", "sum(p.sum() * i for i, p in enumerate(w.chunk(2)))"),
    "views and writes": ("w = torch.ones(4, requires_grad=True)", "((y := w * 2)[1:].mul_(3), y)[1].sum()"),
    "checkpoint": (
        "from torch.utils.checkpoint import checkpoint\nw = torch.ones(4, requires_grad=True)",
        "checkpoint(lambda t: (t * 2).exp(), w, use_reentrant=False).sum()",
    ),
}  # fmt: skip


@pytest.mark.parametrize("steps", [1, 4])
@pytest.mark.parametrize("case", FOLDED)
def test_the_graph_of_the_last_step_is_torchs_own(case: str, steps: int) -> None:
    make, compute = FOLDED[case]
    ran = run_traced(
        f"{make}\nfor step in range({steps}):\n    loss = {compute}\n    loss.backward()\n"
    )
    assert ran.error is None
    assert ran.notes == []
    names, edges, leaves = walk(ran.ns["loss"])
    graph = ran.trace.graph
    ours, our_edges, our_leaves = drawn(graph, graph.named("loss").id)
    assert Counter(ours) == Counter(names)
    assert set(our_edges) == set(edges)
    assert len(our_leaves) == len(leaves)
    known = {n.line for n in graph.nodes if n.kind == "op"}
    assert known == {make.count("\n") + 3}


@pytest.mark.parametrize(
    "write", ["y[0] = 0", "y[1:].mul_(2)", "v = y.view(4)\nv += 1", "y.add_(1)", "torch.relu_(y)"]
)
def test_a_write_gives_the_written_a_new_history(write: str) -> None:
    """Also the tensor that is written through a view of it."""
    ran = run_traced(f"x = torch.ones(2, 2, requires_grad=True)\ny = x * 2\n{write}\nz = x + 1")
    assert ran.error is None
    graph = ran.trace.graph
    names, edges, _ = walk(ran.ns["y"])
    ours, our_edges, _ = drawn(graph, graph.named("y").id)
    assert Counter(ours) == Counter(names)
    assert set(our_edges) == set(edges)
    assert graph.named("y").version == 1


@COMMON
@given(programs())
def test_everything_can_be_drawn(text: str) -> None:
    from leafmagic.render.payload import build_payload
    from leafmagic.render.svg import render_svg
    from leafmagic.render.text import render_text

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ran = run_traced(text)
    graph = ran.trace.graph
    ids = {node.id for node in graph.nodes}
    assert len(ids) == len(graph.nodes)
    assert all(e.source in ids and e.target in ids for e in graph.edges)
    payload = build_payload(ran.trace.document())
    assert render_svg(payload)
    assert render_text(payload)

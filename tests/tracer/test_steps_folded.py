"""Steps of a loop lie on one another; what differs between them is said."""

from __future__ import annotations

from typing import Any

import pytest
from tracing_kit import check_well, run_traced


def ran_at(text: str, **options: Any) -> dict[str, tuple[Any, ...]]:
    """Return (ran, ran_of, in_newest) of the ops of a cell, by op; a list where there are more."""
    ran = run_traced(text, **options)
    check_well(ran)
    found: dict[str, list[tuple[int, int, bool]]] = {}
    for node in ran.trace.graph.nodes:
        if node.kind == "op":
            found.setdefault(node.op, []).append((node.ran, node.ran_of, node.in_newest))
    return {op: tuple(sorted(set(where))) for op, where in found.items()}


BRANCH = """
w = torch.randn(4, requires_grad=True)
scale = (w * 2).detach()
for step in range({steps}):
    h = w * scale
    if step % 8 == 3:
        h = torch.tanh(h)
    loss = h.sum()
    loss.backward()
    w.grad = None
"""


def test_a_branch_says_in_how_many_steps_it_was_taken() -> None:
    found = ran_at(BRANCH.format(steps=100))
    assert found["tanh"] == ((13, 100, True),)  # step 99 is one of them
    assert found["sum"] == ((100, 100, True),)
    # What was done before the loop is not in it.
    assert found["mul"] == ((0, 0, True), (100, 100, True))


def test_a_branch_that_the_newest_step_did_not_take_is_marked() -> None:
    found = ran_at(BRANCH.format(steps=98))
    assert found["tanh"] == ((12, 98, False),)
    assert found["sum"] == ((98, 98, True),)


def test_both_sides_of_a_branch_stay_drawn() -> None:
    found = ran_at("""
w = torch.randn(4, requires_grad=True)
for step in range(20):
    if step % 4 == 3:
        h = torch.tanh(w)
    else:
        h = torch.relu(w)
    loss = h.sum()
    loss.backward()
    w.grad = None
""")
    assert found == {
        "tanh": ((5, 20, True),),
        "relu": ((15, 20, False),),
        "sum": ((20, 20, True),),
    }


def test_turns_that_only_longer_sequences_have() -> None:
    ran = run_traced("""
w = torch.randn(4, 4, requires_grad=True)
for step in range(30):
    h = torch.zeros(4)
    for t in range(4 if step % 3 == 0 else 2):
        h = torch.tanh(w @ h)
    h.sum().backward()
    w.grad = None
""")
    check_well(ran)
    turns = [n for n in ran.trace.graph.nodes if n.op == "tanh" and n.kind == "op"]
    assert [(n.ran, n.ran_of, n.in_newest) for n in turns] == [
        (30, 30, True),
        (30, 30, True),
        (10, 30, False),
        (10, 30, False),
    ]


def test_passes_of_one_loop_do_not_make_each_other_look_absent() -> None:
    found = ran_at("""
G, D = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
og, od = torch.optim.SGD(G.parameters(), 0.1), torch.optim.SGD(D.parameters(), 0.1)
for step in range(12):
    for k in range(3):
        loss_d = D(G(torch.randn(4, 2)).detach()).exp().mean() - D(torch.randn(4, 2)).mean()
        od.zero_grad(); loss_d.backward(); od.step()
    loss_g = -D(G(torch.randn(4, 2))).sin().mean()
    og.zero_grad(); loss_g.backward(); og.step()
    seen = loss_g.detach() + 1
""")
    assert found["exp"] == found["sub"] == ((36, 36, True),)
    assert found["sin"] == found["neg"] == ((12, 12, True),)
    assert all(new for where in found.values() for _, _, new in where)


def test_a_pass_now_and_then_does_not_either() -> None:
    found = ran_at("""
w = torch.randn(4, requires_grad=True)
for step in range(40):
    h = w.exp()
    if step < 5:
        h.sin().sum().backward(retain_graph=True)
    if step % 10 == 2:
        (w.cos().sum() * 0.1).backward()
    if step == 7:
        h = h.tanh()
    loss = h.pow(2).sum()
    loss.backward()
    w.grad = None
""")
    assert found["exp"] == found["pow"] == ((40, 40, True),)
    assert found["sin"] == ((5, 5, True),)
    assert found["cos"] == ((4, 4, True),)
    assert found["tanh"] == ((1, 40, False),)


def test_functions_and_what_they_do_once() -> None:
    found = ran_at("""
w = torch.randn(4, requires_grad=True)
def setup(t):
    return t.sinh()
def forward(x, step):
    h = w * x
    if step % 5 == 0:
        h = h.exp()
    return h
def train():
    x = setup(w).detach()
    for step in range(50):
        loss = forward(x, step).sum()
        loss.backward()
        w.grad = None
train()
""")
    assert found["sinh"] == ((0, 0, True),)
    assert found["mul"] == found["sum"] == ((50, 50, True),)
    assert found["exp"] == ((10, 50, False),)


def test_a_step_under_way_makes_nothing_look_absent() -> None:
    ran = run_traced("""
import leafmagic
w = torch.randn(4, requires_grad=True)
seen = []
for step in range(6):
    h = w.exp()
    seen.append([(n.op, n.ran == n.ran_of, n.in_newest) for n in leafmagic.last().graph.nodes
                 if n.kind == "op"])
    loss = h.sum()
    loss.backward()
    after = loss.detach() + w.sin()
    w.grad = None
""")
    check_well(ran)
    assert {(whole, new) for step in ran.ns["seen"] for _, whole, new in step} == {(True, True)}
    assert {op for op, _, _ in ran.ns["seen"][-1]} == {"exp", "sum", "add", "sin"}


def test_shapes_that_differ_from_step_to_step() -> None:
    ran = run_traced("""
w = torch.randn(4, 2, requires_grad=True)
data = torch.randn(22, 4)
for epoch in range(3):
    for i in range(0, 22, 8):
        xb = data[i:i + 8]
        out = xb @ w
        loss = out.pow(2).mean()
        loss.backward()
        w.grad = None
    with torch.no_grad():
        value = (data @ w).mean()
""")
    check_well(ran)
    assert ran.node("xb").shapes == ((8, 4), (6, 4))
    assert ran.node("out").shapes == ((8, 2), (6, 2))
    assert ran.node("loss").shapes == ran.node("w").shapes == ran.node("data").shapes == ()
    # In the outer loop that is what an epoch did, and not one of nine steps.
    value = ran.node("value")
    assert (value.ran, value.ran_of, value.in_newest) == (3, 3, True)


def test_of_many_shapes_the_newest_are_kept() -> None:
    ran = run_traced("""
w = torch.randn(2, requires_grad=True)
for n in range(1, 1001):
    h = w.repeat(n)
    h.sum().backward()
    w.grad = None
""")
    check_well(ran)
    shapes = ran.node("h").shapes
    assert 2 <= len(shapes) <= 4
    assert shapes[-1] == (2000,)


LOOPS = {
    "layers": """
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
x = torch.randn(8, 4)
for i in range({n}):
    y = net(x)
    z = y.mean()
""",
    "chain": """
w = torch.randn(4, 4, requires_grad=True)
for i in range({n}):
    h = torch.zeros(4)
    for t in range(3):
        h = torch.tanh(w @ h)
    z = h.mean()
""",
    "function": """
w = torch.randn(4, 4, requires_grad=True)
def value(turns):
    h = torch.zeros(4)
    for t in range(turns):
        h = torch.tanh(w @ h)
    return h.mean().item()
for i in range({n}):
    value(3 + i % 3)
""",
    "several outputs, and in place": """
x, w = torch.randn(8), torch.randn(8, requires_grad=True)
lstm = torch.nn.LSTM(4, 3, 2)
for i in range({n}):
    best, where = (w * x).topk(3)
    a, b = (w * x).chunk(2)
    r = torch.relu_(w * 2)
    out, (h, c) = lstm(a.view(1, 4))
""",
    "some are kept": """
w = torch.randn(4, 4, requires_grad=True)
best = None
for i in range({n}):
    y = (w @ torch.randn(4)).sin().sum()
    if best is None or y > best:
        best = y
""",
    "no_grad": """
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
x = torch.randn(8, 4)
with torch.no_grad():
    for i in range({n}):
        y = net(x)
        v, k = y.max(0)
        z = y.mean()
""",
    "inference_mode": """
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
x = torch.randn(8, 4)
with torch.inference_mode():
    for i in range({n}):
        y = net(x)
        z = y.mean()
""",
    "after training": """
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
def value(x):
    return net(x).mean()
for epoch in range({n}):
    for k in range(2):
        loss = value(torch.randn(2, 4))
        loss.backward()
        net.zero_grad()
    for k in range(4):
        test = value(torch.randn(2, 4))
""",
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_without_backward_folds_too(name: str) -> None:
    """Its rounds are gone one after another, graph and all: so are their boxes."""
    few, many = (run_traced(LOOPS[name].format(n=n), grads="off") for n in (12, 60))
    for ran in (few, many):
        check_well(ran)
    boxes = [sorted((n.kind, n.op) for n in ran.trace.graph.nodes) for ran in (few, many)]
    assert boxes[0] == boxes[1]
    sizes = [
        [len(kept) for kept in (s.records, s.node_records, s.tensors, s.nodes)]
        for s in (few.trace.model.slots, many.trace.model.slots)
    ]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("name", ["layers", "no_grad", "inference_mode"])
def test_the_newest_round_stands_for_all(name: str) -> None:
    ran = run_traced(LOOPS[name].format(n=50))
    check_well(ran)
    assert ran.node("y").shape == (8, 1)
    assert [(n.count, n.ran, n.ran_of, n.in_newest) for n in [ran.node("z")]] == [
        (50, 50, 50, True)
    ]
    linear = [n for n in ran.trace.graph.nodes if n.kind == "op" and n.op == "linear"]
    assert len(linear) == (2 if name == "layers" else 0)
    assert all((n.ran, n.ran_of) == (50, 50) for n in linear)


def test_a_branch_of_a_loop_without_backward() -> None:
    ran = run_traced("""
w = torch.randn(4, requires_grad=True)
for i in range(100):
    y = w.exp()
    if i % 10 == 2:
        y = y.sin()
    z = y.sum()
""")
    check_well(ran)
    found = {n.op: (n.ran, n.ran_of, n.in_newest) for n in ran.trace.graph.nodes if n.kind == "op"}
    assert found == {"exp": (100, 100, True), "sin": (10, 100, False), "sum": (100, 100, True)}


def test_what_is_alive_is_never_folded() -> None:
    """All rounds lead to one loss, or are kept in a list: each has a box of its own."""
    ran = run_traced("""
w = torch.randn(3, requires_grad=True)
h = w
for i in range(30):
    h = torch.tanh(h * w)
kept = [w.sin() for i in range(20)]
total = h.sum() + torch.stack(kept).sum()
total.backward()
""")
    check_well(ran)
    ops = [n.op for n in ran.trace.graph.nodes if n.kind == "op"]
    assert (ops.count("tanh"), ops.count("mul"), ops.count("sin")) == (30, 30, 20)


def test_layers_made_anew_in_each_round_do_not_fill_memory() -> None:
    text = """
x = torch.randn(2, 4)
for i in range({n}):
    net = torch.nn.Linear(4, 1)
    y = net(x)
"""
    sizes = []
    for n in (700, 900):
        ran = run_traced(text.format(n=n), grads="off")
        check_well(ran)
        slots = ran.trace.model.slots
        sizes.append((len(slots.records), len(slots.node_records), len(slots.nodes)))
    assert sizes[0] == sizes[1]


def test_many_runs_that_replace_one_another_are_no_reason_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leafmagic.ops.MOST_TURNS", 60)
    ran = run_traced("""
w = torch.randn(8, requires_grad=True)
for step in range(100):
    a, b = (w * 2).chunk(2)
    loss = (a * b).sum()
    loss.backward()
    w.grad = None
""")
    check_well(ran)
    assert not ran.trace.document()["status"]["cut"]
    assert {n.ran for n in ran.trace.graph.nodes if n.op == "chunk"} == {100}


WHOLE = {
    "transformer": """
net = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
x = torch.randn(2, 5, 8)
run = lambda: net(x)
""",
    "one line, with grad and without": """
w = torch.randn(4, 4, requires_grad=True)
x = torch.randn(4, 4)
run = lambda: x.t() @ w.t() @ x.t() @ w.t() @ w.detach().t() @ w.t() @ x.t()
""",
    "detached on the way": """
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4))
def run():
    h = torch.ones(2, 4)
    for t in range(3):
        target = net(h).detach()
        h = net(h) - target * 0.1
    return h
""",
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_drawn_graph_is_the_one_of_the_newest_step(name: str) -> None:
    ran = run_traced(
        WHOLE[name]
        + """
for step in range(5):
    loss = run().sum()
    if step == 4:
        names, stack, seen = [], [loss.grad_fn], set()
        while stack:
            node = stack.pop()
            if node is not None and node not in seen:
                seen.add(node)
                names.append(node.name())
                stack += [one for one, _ in node.next_functions]
    loss.backward()
"""
    )
    check_well(ran)
    real = sorted(n for n in ran.ns["names"] if n != "torch::autograd::AccumulateGrad")
    graph = ran.trace.graph
    (root,) = [n for n in graph.nodes if n.name == "loss"]
    reached, stack = set(), [root.id]
    while stack:
        at = stack.pop()
        if at not in reached:
            reached.add(at)
            stack += [
                e.target for e in graph.edges if e.source == at and e.kind in ("next", "output")
            ]
    drawn = sorted(n.name for n in graph.nodes if n.kind == "op" and n.id in reached)
    assert drawn == real

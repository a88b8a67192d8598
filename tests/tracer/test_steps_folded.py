"""Steps of a loop lie on one another; what differs between them is said."""

from __future__ import annotations

from typing import Any

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

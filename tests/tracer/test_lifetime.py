"""A trace keeps nothing alive, and a long loop does not make it grow."""

from __future__ import annotations

import contextlib
import gc
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tracing_kit import break_everywhere, check_well, run_traced

import leafmagic


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """Without the cycle collector only reference counts free anything."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def opened(**options: Any) -> Iterator[Any]:
    with leafmagic.trace(**options) as trace:
        yield trace


def graph_probe() -> tuple[torch.Tensor, dict[str, Any]]:
    """Build a graph whose saved tensor can be watched from outside."""
    x = torch.ones(1000, requires_grad=True)
    h = x.exp()  # saves its result
    refs = {"x": weakref.ref(x), "h": weakref.ref(h), "storage": h.untyped_storage()}
    return h.sum(), refs


def test_tensors_die_while_the_trace_is_open() -> None:
    with opened():
        loss, refs = graph_probe()
        assert refs["x"]() is not None  # the graph holds its leaf
        del loss
        assert refs["x"]() is None
        assert refs["h"]() is None


def test_dropping_a_backwarded_loss_frees_the_rest() -> None:
    with opened(grads="norm") as trace:
        w = torch.ones(10, requires_grad=True)
        h = w * 2
        h.retain_grad()
        loss = h.sum()
        loss.backward()
        grad, hidden, root = weakref.ref(w.grad), weakref.ref(h), weakref.ref(loss)
        _ = trace.graph, trace.document(), trace.findings
        w.grad = None
        assert grad() is None
        del loss
        assert root() is None
        del h
        assert hidden() is None


def test_nodes_die_with_their_graph() -> None:
    died: list[int] = []

    class Mark:
        def __del__(self) -> None:
            died.append(1)

    with opened() as trace:
        w = torch.ones(3, requires_grad=True)
        h = (w * 2).exp()
        node = h.grad_fn
        assert node is not None
        node.metadata["probe"] = Mark()
        del node
        _ = trace.graph
        assert died == []
        del h
        assert died == [1]


def test_nothing_lives_longer_than_the_trace() -> None:
    class Mark:
        pass

    mark = Mark()
    seen = weakref.ref(mark)
    with opened() as trace:
        w = torch.ones(3, requires_grad=True)
        w.mark = mark  # type: ignore[attr-defined]
        del mark
        (w * 2).sum().backward()
        w.register_hook(lambda g, m=w.mark: g)  # type: ignore[attr-defined]
    assert seen() is not None
    alive = weakref.ref(w)
    del w
    assert alive() is None
    assert seen() is None
    assert trace.graph.nodes


def test_locals_of_a_function_die_when_it_returns() -> None:
    text = """
import weakref
refs = []
def f(w):
    h = w * 2
    k = h.relu()
    refs.append(weakref.ref(h)); refs.append(weakref.ref(k))
    return k.detach().sum()
w = torch.ones(3, requires_grad=True)
s = f(w)
dead = [r() is None for r in refs]
"""
    ran = run_traced(text)
    check_well(ran)
    assert ran.ns["dead"] == [True, True]


@pytest.mark.parametrize("text", ["h @ torch.ones(9)", "h.no_such", "h.backward()"])
def test_an_error_keeps_nothing_once_it_is_gone(text: str) -> None:
    cell = f"""
import weakref
def f():
    h = torch.ones(3, requires_grad=True) * 2
    refs.append(weakref.ref(h))
    {text}
refs = []
try:
    f()
except Exception:
    pass
dead = refs[0]() is None
"""
    ran = run_traced(cell)
    check_well(ran)
    assert ran.ns["dead"]


def test_an_error_that_ended_the_cell_is_not_kept() -> None:
    cell = """
import weakref
def f():
    h = torch.ones(3, requires_grad=True) * 2
    refs.append(weakref.ref(h))
    h @ torch.ones(9)
refs = []
f()
"""
    ran = run_traced(cell)
    assert ran.error is not None
    ran.error.__traceback__ = None
    ran.error = None
    assert ran.ns["refs"][0]() is None


def test_an_error_of_our_own_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert break_everywhere(monkeypatch, "Raised")
    cell = """
import weakref
def f():
    h = torch.ones(3, requires_grad=True) * 2
    refs.append(weakref.ref(h))
    h @ torch.ones(9)
refs = []
try:
    f()
except RuntimeError:
    pass
dead = refs[0]() is None
"""
    ran = run_traced(cell)
    assert ran.error is None
    assert ran.ns["dead"]


def test_the_namespace_is_let_go() -> None:
    class Space(dict):  # type: ignore[type-arg]
        pass

    space = Space(torch=torch, __name__="__main__")
    ran = run_traced("a = torch.ones(3, requires_grad=True)\nb = a * 2", space)
    check_well(ran)
    seen = weakref.ref(space)
    trace = ran.trace
    ran.ns = {}
    del space, ran
    assert seen() is None
    assert trace.graph.nodes


def test_a_function_that_holds_a_tensor_is_not_kept() -> None:
    from torch.overrides import wrap_torch_function

    with opened():
        big = torch.ones(10)
        seen = weakref.ref(big)

        def make(held: torch.Tensor) -> Any:
            @wrap_torch_function(lambda a: (a,))
            def plus(a: torch.Tensor) -> torch.Tensor:
                return a + held

            return plus

        plus = make(big)
        out = plus(torch.ones(10))
        del plus, big
        gc.collect()  # torch's decorator refers to what it makes
        assert seen() is None
        assert out[0] == 2


def test_saved_only_tensors_can_be_looked_at_again() -> None:
    """A tensor that only the graph holds gives up its Python object and gets it back."""
    with opened(grads="norm") as trace:
        w = torch.ones(4, requires_grad=True)
        for _ in range(50):
            h = (w * 2).exp()
            loss = (h * h).sum()
            del h
            _ = trace.graph
            loss.backward()
            saved = (w * 3).exp()
            keep = saved.grad_fn
            del saved
            again = keep._saved_result  # type: ignore[union-attr]
            assert again[0] == torch.tensor(3.0).exp()
            del again, keep
    assert trace.document()["status"]["notes"] == []


# Memory ------------------------------------------------------------------------------

LOOPS = {
    "sgd": """
w = torch.ones(3, requires_grad=True)
for step in range(N):
    loss = ((w * 2 - 1) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
    w.grad = None
""",
    "no backward": """
w = torch.ones(3, requires_grad=True)
for step in range(N):
    h = w * 2
    out = h.relu().sum()
""",
    "no grad": """
w = torch.ones(3)
with torch.no_grad():
    for step in range(N):
        h = w * 2
        out = h.relu().sum()
""",
    "module": """
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
opt = torch.optim.Adam(net.parameters())
for step in range(N):
    opt.zero_grad()
    loss = net(torch.ones(4, 2)).pow(2).mean()
    loss.backward()
    opt.step()
""",
    "in a function": """
def train(w):
    for step in range(N):
        loss = ((w * 2 - 1) ** 2).sum()
        loss.backward()
        with torch.no_grad():
            w -= 0.01 * w.grad
        w.grad = None
    return loss
w = torch.ones(3, requires_grad=True)
last = train(w)
""",
    "function without backward": """
def evaluate(w):
    total = 0.0
    for step in range(N):
        out = (w * 2).relu().sum()
        total += out.item()
    return total
w = torch.ones(3, requires_grad=True)
score = evaluate(w)
""",
    "detached state": """
w = torch.ones(3, requires_grad=True)
h = torch.zeros(3)
for step in range(N):
    h = torch.tanh(h.detach() + w)
    loss = h.sum()
    loss.backward()
    w.grad = None
""",
    "grad": """
w = torch.ones(3, requires_grad=True)
for step in range(N):
    loss = (w ** 2).sum()
    g, = torch.autograd.grad(loss, w)
    with torch.no_grad():
        w -= 0.01 * g
""",
    "retained and hooked": """
w = torch.ones(3, requires_grad=True)
for step in range(N):
    h = w * 2
    h.retain_grad()
    h.register_hook(lambda g: g * 2)
    h.sum().backward()
    seen = h.grad
    w.grad = None
""",
    "new leaves": """
for step in range(N):
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).sum()
    y.backward()
    g = x.grad
""",
    "mistake in each step": """
w = torch.ones(3, requires_grad=True)
for step in range(N):
    h = w * 2
    h.sum().backward()
    seen = h.grad
    w.grad = None
""",
    "views and writes": """
w = torch.ones(4, requires_grad=True)
for step in range(N):
    y = w * 2
    v = y[1:]
    v.mul_(2)
    y[0] = 0
    y.sum().backward()
    w.grad = None
""",
    "while and try": """
w = torch.ones(3, requires_grad=True)
step = 0
while step < N:
    try:
        loss = (w * 2).sum()
        loss.backward()
    finally:
        step += 1
        w.grad.zero_()
""",
    "shapes that change": """
w = torch.ones(40, requires_grad=True)
for step in range(N):
    k = step % 7 + 1
    loss = (w[:k] * 2).sum() if step % 2 else (w[:k].exp() * 3).mean()
    loss.backward()
    w.grad = None
""",
    "comprehension": """
w = torch.ones(3, requires_grad=True)
for step in range(N):
    parts = [w * i for i in range(3)]
    loss = sum(p.sum() for p in parts)
    loss.backward()
    w.grad = None
""",
    "errors that are caught": """
w = torch.ones(3, requires_grad=True)
for step in range(N):
    try:
        w @ torch.ones(4)
    except RuntimeError:
        pass
""",
}


def measured(text: str, steps: int, **options: Any) -> tuple[Any, int]:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        ran = run_traced(f"N = {steps}\n{text}", **options)
        check_well(ran)
        for name in [n for n in ran.ns if n not in ("torch", "__name__")]:
            del ran.ns[name]
        gc.collect()
        return ran, tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


def size_of(ran: Any) -> tuple[int, int]:
    model = getattr(ran.trace, "model", None) or ran.trace._model
    return len(model.tensors), len(model.nodes)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_loop_does_not_make_the_model_grow(loop: str) -> None:
    few, many = (run_traced(f"N = {n}\n{LOOPS[loop]}") for n in (20, 140))
    check_well(few)
    check_well(many)
    assert len(many.trace.graph.nodes) <= len(few.trace.graph.nodes) + 4
    grown = [b - a for a, b in zip(size_of(few), size_of(many), strict=True)]
    assert max(grown) <= 30, grown


@pytest.mark.parametrize("loop", ["sgd", "no backward", "in a function"])
def test_memory_of_a_long_loop_is_flat(loop: str) -> None:
    measured(LOOPS[loop], 5)
    _, few = measured(LOOPS[loop], 60)
    ran, many = measured(LOOPS[loop], 560)
    # Numbers of recent nodes and of dead tensors' addresses are kept, a bounded amount.
    assert many - few < 1_000 * 500, (few, many, size_of(ran))


KEPT = {
    "losses": """
w = torch.ones(3, requires_grad=True)
losses = []
for step in range(N):
    loss = (w * step).sum()
    losses.append(loss)
    loss.backward()
    w.grad = None
""",
    "carried, retain_graph": """
w = torch.ones(3, requires_grad=True)
h = torch.zeros(3)
for step in range(N):
    h = torch.tanh(h + w)
    loss = h.sum()
    loss.backward(retain_graph=True)
    w.grad = None
""",
    "one sum": """
w = torch.ones(3, requires_grad=True)
total = torch.zeros(())
for step in range(N):
    total = total + (w * step).sum()
total.backward()
""",
}


@pytest.mark.parametrize("loop", KEPT)
def test_what_the_user_keeps_costs_us_little_more(loop: str) -> None:
    ran, size = measured(KEPT[loop], 300)
    assert size < 6_000_000
    assert ran.trace.document()["status"]["notes"] == []

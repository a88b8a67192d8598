"""What else runs in the process notices nothing of a trace: errors, warnings, modes, threads."""

from __future__ import annotations

import sys
import threading
import traceback
import warnings
from types import TracebackType
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from tracing_kit import Ran, assert_same, both, check_well, compile_cell, run_plain, run_traced

import leafmagic


def frames_of(error: BaseException) -> list[tuple[str, int | None, str]]:
    """List where an error passed through, cells by one name."""
    return [
        ("cell" if f.filename.startswith("<ipython") else f.filename, f.lineno, f.name)
        for f in traceback.extract_tb(error.__traceback__)
        if "tracing_kit" not in f.filename
    ]


ERRORS = {
    "op": "torch.ones(2) @ torch.ones(3)",
    "in a function": "def f(a):\n    return a @ torch.ones(3)\nf(torch.ones(2))",
    "in a module": "net = torch.nn.Sequential(torch.nn.Linear(2, 2))\nnet(torch.ones(1, 3))",
    "functional": "torch.nn.functional.cross_entropy(torch.ones(2, 2), torch.ones(3).long())",
    "backward": "torch.ones(3, requires_grad=True).mul(2).backward()",
    "autograd.grad": "x = torch.ones(1, requires_grad=True)\ntorch.autograd.grad(x * 2, torch.ones(1))",
    "twice": "x = torch.ones(2, requires_grad=True)\nl = (x * x).sum()\nl.backward()\nl.backward()",
    "leaf in place": "w = torch.ones(2, requires_grad=True)\nw += 1",
    "saved": "x = torch.ones(2, requires_grad=True)\na = x.exp()\na += 1\na.sum().backward()",
    "nn.init": "torch.nn.init.xavier_uniform_(torch.ones(2))",
    "split": "torch.ones(3).split([1, 1])",
    "einsum": "torch.einsum('ij,jk', torch.ones(2, 2))",
    "property": "torch.ones(2).grad = 3",
    "requires_grad": "x = torch.ones(2, requires_grad=True) * 2\nx.requires_grad = False",
    "not callable": "a = torch.ones(2)\na.requires_grad()",
    "attribute": "torch.ones(2).no_such_thing",
    "in a hook": "x = torch.ones(2, requires_grad=True)\nx.register_hook(lambda g: 1 / 0)\n(x * 2).sum().backward()",
    "chained": "try:\n    torch.ones(2) @ torch.ones(3)\nexcept RuntimeError as e:\n    raise KeyError('no') from e",
    "contextual": "try:\n    torch.ones(2) @ torch.ones(3)\nexcept RuntimeError:\n    torch.ones(2) @ torch.ones(4)",
    "item": "torch.ones(2).item()",
    "index": "torch.ones(2)[5]",
    "bool": "if torch.ones(2):\n    pass",
    "optimizer": "w = torch.ones(2, requires_grad=True)\ntorch.optim.SGD([w * 2], lr=0.1)",
    "KeyboardInterrupt": "class T(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, t, a=(), k=None):\n        raise KeyboardInterrupt\ntorch.ones(2).as_subclass(T) + 1",
    "SystemExit": "import sys\ntorch.ones(2)\nsys.exit(3)",
    "StopIteration": "next(iter(torch.ones(0)))",
    "recursion": "def f(t):\n    return f(t + 1)\nf(torch.ones(1))",
}


@pytest.mark.parametrize("case", [c for c in ERRORS if c != "recursion"])
def test_error_is_the_same(case: str) -> None:
    plain, traced = both(ERRORS[case])
    assert plain.error is not None
    assert type(plain.error) is type(traced.error)
    assert str(plain.error) == str(traced.error)
    assert traced.notes == []
    one: BaseException | None = plain.error
    other = traced.error
    while one is not None:
        assert other is not None
        assert frames_of(other) == frames_of(one)
        assert (one.__suppress_context__, type(one.__cause__)) == (
            other.__suppress_context__,
            type(other.__cause__),
        )
        one, other = one.__cause__ or one.__context__, other.__cause__ or other.__context__
    assert other is None


def test_endless_recursion_is_the_users_own_error() -> None:
    plain, traced = both(ERRORS["recursion"])
    assert type(plain.error) is RecursionError
    assert type(traced.error) is RecursionError
    assert not [f for f in frames_of(traced.error) if "leafmagic" in f[0]]


WARNINGS = {
    "functional": "import torch.nn.functional as F\nF.mse_loss(torch.ones(2), torch.ones(2, 1))",
    "two places": "import torch.nn.functional as F\nF.mse_loss(torch.ones(2), torch.ones(2, 1))\nF.mse_loss(torch.ones(2), torch.ones(2, 1))",
    "loop": "import torch.nn.functional as F\nfor _ in range(3):\n    F.mse_loss(torch.ones(2), torch.ones(2, 1))",
    "module": "loss = torch.nn.MSELoss()\nfor _ in range(2):\n    loss(torch.ones(2), torch.ones(2, 1))",
    "resized out": "o = torch.ones(3)\ntorch.add(torch.ones(2), 1, out=o)\no = torch.ones(3)\ntorch.add(torch.ones(2), 1, out=o)",
    "copy construct": "a = torch.ones(2)\nb = torch.tensor(a)\nc = torch.tensor(a)",
    "user's": "import warnings\nfor i in range(3):\n    warnings.warn('mine')\nwarnings.warn('other', RuntimeWarning)",
    "user's in a hook": "import warnings\nx = torch.ones(2, requires_grad=True)\nx.register_hook(lambda g: warnings.warn('hook'))\n(x * 2).sum().backward()",
    "init": "torch.nn.init.normal_(torch.empty(0, 2))\ntorch.nn.init.xavier_uniform_(torch.empty(0, 2))",
}


def shown_by(run: Any, text: str, action: str) -> list[tuple[str, str, str]]:
    """Run a cell and list the warnings that a user would see, with the file they name."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        ran = run(text)
    if ran.error is not None:
        raise ran.error
    return [
        (
            w.category.__name__,
            str(w.message),
            "cell" if w.filename.startswith("<ipython") else w.filename,
        )
        for w in seen
    ]


def bare(text: str) -> Ran:
    """Run a cell with the filters as they are."""
    ran = Ran({"__name__": "__main__", "torch": torch})
    for part in compile_cell(text, "<ipython-input-77-bare>"):
        exec(part, ran.ns)
    return ran


def bare_traced(text: str) -> Ran:
    from leafmagic.cell import CellSource
    from leafmagic.options import Options
    from leafmagic.tracing import Tracer

    name = "<ipython-input-78-bare>"
    ran = Ran({"__name__": "__main__", "torch": torch})
    parts = compile_cell(text, name)
    ran.trace = Tracer(Options(), cell=CellSource("Cell In[78]", text, name), namespace=ran.ns)
    ran.trace.start()
    try:
        for part in parts:
            exec(part, ran.ns)
    finally:
        ran.trace.stop()
    return ran


@pytest.mark.parametrize("action", ["always", "default", "once", "module"])
@pytest.mark.parametrize("case", WARNINGS)
def test_warnings_are_shown_as_often(case: str, action: str) -> None:
    plain = shown_by(bare, WARNINGS[case], action)
    traced = shown_by(bare_traced, WARNINGS[case], action)
    assert [w[:2] for w in traced] == [w[:2] for w in plain]


@pytest.mark.parametrize("case", WARNINGS)
def test_warnings_name_no_file_of_ours(case: str) -> None:
    traced = shown_by(bare_traced, WARNINGS[case], "always")
    assert not [w for w in traced if "leafmagic/leafmagic" in w[2] or "/recorder.py" in w[2]]


def test_filter_that_raises_still_raises() -> None:
    text = "import torch.nn.functional as F\nF.mse_loss(torch.ones(2), torch.ones(2, 1))"
    for run in (bare, bare_traced):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match="target size"):
                run(text)


@pytest.mark.parametrize("run", [bare, bare_traced])
def test_nonleaf_warning_as_error_still_raises(run: Any) -> None:
    text = "x = torch.ones(2, requires_grad=True)\ny = x * 2\ny.sum().backward()\ny.grad"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="not a leaf"):
            run(text)


def test_nonleaf_warning_of_a_library_is_still_shown() -> None:
    text = (
        "x = torch.ones(2, requires_grad=True)\ny = x * 2\ny.sum().backward()\ngetattr(y, 'grad')"
    )
    assert len(shown_by(bare_traced, text, "always")) == len(shown_by(bare, text, "always")) == 1


# Other modes -------------------------------------------------------------------------


class Listening(TorchFunctionMode):
    """Notes every torch function that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.heard.append(torch.overrides.resolve_name(func) or str(func))
        return func(*args, **(kwargs or {}))


class Dispatched(TorchDispatchMode):
    """Notes every operator that it sees."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.heard.append(str(func))
        return func(*args, **(kwargs or {}))


WORK = """
w = torch.ones(3, requires_grad=True)
h = w * 2
h.retain_grad()
l = torch.nn.functional.relu(h).sum()
l.backward()
g = w.grad
with torch.no_grad():
    w -= g
i = l.item()
"""


@pytest.mark.parametrize("kind", [Listening, Dispatched])
@pytest.mark.parametrize("grads", ["auto", "norm"])
def test_mode_inside_the_cell_sees_the_same(kind: Any, grads: str) -> None:
    text = "with Mode() as m:\n" + "".join(f"    {line}\n" for line in WORK.splitlines())
    heard = []
    for run in (run_plain, lambda *a: run_traced(*a, grads=grads)):
        ran = run(text, {"torch": torch, "Mode": kind, "__name__": "__main__"})
        assert ran.error is None
        heard.append(ran.ns["m"].heard)
    assert heard[1] == heard[0]


@pytest.mark.parametrize("kind", [Listening, Dispatched])
def test_mode_outside_the_trace_sees_the_same(kind: Any) -> None:
    heard = []
    for run in (run_plain, run_traced):
        with kind() as mode:
            ran = run(WORK)
        assert ran.error is None
        heard.append(mode.heard)
    # The seed is set outside the cell, and what is read once at start and end is seen.
    assert heard[1] == heard[0]


def test_mode_left_pushed_by_the_cell_stays() -> None:
    ran = run_traced(
        "m = Mode()\nm.__enter__()\ntorch.ones(2)", {"torch": torch, "Mode": Listening}
    )
    try:
        check_well(ran)
        stack = torch.overrides._get_current_function_mode_stack()
        assert stack == [ran.ns["m"]]
    finally:
        ran.ns["m"].__exit__(None, None, None)


def test_mode_popped_twice_by_the_cell() -> None:
    from torch.overrides import _pop_mode

    ran = run_traced("pop()\na = torch.ones(2) + 1", {"torch": torch, "pop": _pop_mode})
    assert ran.error is None
    assert torch._C._len_torch_function_stack() == 0


def test_default_device_set_and_left() -> None:
    ran = run_traced("torch.set_default_device('meta')\na = torch.ones(2)")
    try:
        check_well(ran)
        assert ran.ns["a"].is_meta
        assert torch.ones(1).is_meta
        second = run_traced("torch.set_default_device('cpu')\nb = torch.ones(2)")
        check_well(second)
        assert not torch.ones(1).is_meta
    finally:
        torch.set_default_device(None)
    assert torch._C._len_torch_function_stack() == 0


def test_two_traces_at_once() -> None:
    with leafmagic.trace() as outer:
        w = torch.ones(3, requires_grad=True)
        with leafmagic.trace() as inner:
            loss = (w * 2).sum()
        loss.backward()
    assert outer.document()["status"]["notes"] == inner.document()["status"]["notes"] == []
    assert [n.op for n in inner.graph.nodes if n.kind == "op"] == ["mul", "sum"]
    assert [n.op for n in outer.graph.nodes if n.kind == "op"] == ["mul", "sum"]
    assert outer.document()["status"]["steps"] == 1


# Subclasses --------------------------------------------------------------------------

SUBCLASS = """
class Loud(torch.Tensor):
    heard = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.heard.append(getattr(func, '__name__', str(func)))
        return super().__torch_function__(func, types, args, kwargs or {})
x = torch.ones(3).as_subclass(Loud).requires_grad_()
y = (x * 2).sum()
y.backward()
g = x.grad
x2 = x.detach() + 1
z = torch.ones(3, requires_grad=True) + x2
heard = list(Loud.heard)
"""


def test_subclass_hears_only_the_users_calls() -> None:
    plain, traced = both(SUBCLASS, grads="norm")
    check_well(traced)
    assert traced.ns["heard"] == plain.ns["heard"]
    assert len(traced.ns["Loud"].heard) == len(plain.ns["Loud"].heard)


WRAPPER = """
from torch.utils._pytree import tree_map
class Wrapped(torch.Tensor):
    heard = []
    @staticmethod
    def __new__(cls, inner):
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)
    def __init__(self, inner):
        self.inner = inner
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.heard.append(str(func))
        un = lambda t: t.inner if isinstance(t, Wrapped) else t
        out = func(*tree_map(un, args), **tree_map(un, kwargs or {}))
        return tree_map(lambda t: Wrapped(t) if isinstance(t, torch.Tensor) else t, out)
w = Wrapped(torch.ones(3)).requires_grad_()
l = (w * 2).sum()
l.backward()
heard = list(Wrapped.heard)
"""


def test_wrapper_subclass_is_asked_nothing_in_the_cell() -> None:
    plain, traced = both(WRAPPER, grads="norm")
    check_well(traced)
    assert traced.ns["heard"] == plain.ns["heard"]
    assert traced.ns["Wrapped"].heard == plain.ns["Wrapped"].heard


def test_subclass_whose_attributes_raise() -> None:
    text = """
class Broken(torch.Tensor):
    @property
    def shape(self):
        raise ValueError('no shape')
    @property
    def grad_fn(self):
        raise ValueError('no grad_fn')
a = torch.ones(3).as_subclass(Broken)
b = a * 2
c = torch.ones(2, requires_grad=True) * 2
"""
    plain, traced = both(text)
    assert plain.error is None
    check_well(traced)
    assert traced.node("c").state == "non-leaf"


@pytest.mark.parametrize(
    "look", ["u[0].grad", "u[0].retain_grad()", "u[0].requires_grad_()", "u[0] * 1", "repr(u)"]
)
def test_view_that_torch_forbids_to_look_at(look: str) -> None:
    """One of several views of a tensor that was written through another view."""
    text = f"""
y = torch.ones(4, 3, requires_grad=True) * 2
u = y.unbind(0)
y[1] = 5
try:
    {look}
    said = 'nothing'
except RuntimeError as e:
    said = str(e)
l = y.sum()
l.backward()
del u
"""
    plain, traced = both(text, grads="norm")
    check_well(traced)
    assert_same(plain, traced)
    assert traced.node("l").state == "non-leaf"


def test_uninitialized_parameter() -> None:
    text = "net = torch.nn.LazyLinear(2)\ny = net(torch.ones(1, 3))\nl = y.sum()\nl.backward()"
    plain, traced = both(text)
    assert plain.error is None
    check_well(traced)
    assert_same(plain, traced)


def test_fake_tensors() -> None:
    text = """
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode() as mode:
    w = torch.ones(3, requires_grad=True)
    l = (w * 2).sum()
    l.backward()
shape = tuple(w.grad.shape)
"""
    plain, traced = both(text, grads="norm")
    assert plain.error is None
    check_well(traced)
    assert traced.ns["shape"] == (3,)


# Compilation -------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_function_stays_one_graph(backend: str) -> None:
    text = f"""
torch._dynamo.reset()
def f(x, w):
    h = torch.nn.functional.relu(x @ w)
    return (h * 2).sum()
g = torch.compile(f, backend={backend!r}, fullgraph=True)
w = torch.ones(3, 2, requires_grad=True)
for i in range(3):
    l = g(torch.full((4, 3), float(i)), w)
    l.backward()
counters = dict(torch._dynamo.utils.counters["stats"])
breaks = len(torch._dynamo.utils.counters["graph_break"])
torch._dynamo.utils.counters.clear()
"""
    torch._dynamo.utils.counters.clear()
    plain, traced = both(text)
    if plain.error is not None:
        raise plain.error
    check_well(traced)
    assert traced.ns["counters"] == plain.ns["counters"]
    assert traced.ns["breaks"] == 0
    assert torch.equal(traced.ns["w"].grad, plain.ns["w"].grad)


# Threads and async -------------------------------------------------------------------


def test_threads_build_graphs_undisturbed() -> None:
    text = """
import threading
w = torch.ones(3, requires_grad=True)
outs = {}
def work(i):
    h = w
    for _ in range(20):
        h = h * 1.01
    outs[i] = h.sum()
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads: t.start()
local = w
for _ in range(20):
    local = local * 1.01
for t in threads: t.join()
total = sum(outs[i] for i in range(4)) + local.sum()
total.backward()
del threads
"""
    plain, traced = both(text)
    if plain.error is not None:
        raise plain.error
    check_well(traced)
    assert_same(plain, traced)
    ops = [n for n in traced.trace.graph.nodes if n.kind == "op" and n.name == "MulBackward0"]
    assert sum(n.count for n in ops) == 100


def test_backward_in_a_thread() -> None:
    text = """
import threading
w = torch.ones(3, requires_grad=True)
l = (w * 2).sum()
t = threading.Thread(target=l.backward)
t.start(); t.join()
del t
"""
    plain, traced = both(text)
    check_well(traced)
    assert_same(plain, traced)
    assert traced.node("w").has_grad


def test_reader_in_another_thread_while_the_cell_runs() -> None:
    text = """
w = torch.ones(3, requires_grad=True)
for step in range(150):
    h = torch.tanh(w * step)
    l = (h * h).sum()
    l.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        w.grad = None
"""
    from leafmagic.cell import CellSource
    from leafmagic.options import Options
    from leafmagic.tracing import Tracer

    name = "<ipython-input-99-read>"
    ns: dict[str, Any] = {"torch": torch, "__name__": "__main__"}
    parts = compile_cell(text, name)
    trace = Tracer(Options(), cell=CellSource("Cell In[99]", text, name), namespace=ns)
    failed: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                trace.document()
                _ = trace.findings
            except BaseException as error:
                failed.append(error)
                return

    reader = threading.Thread(target=read)
    trace.start()
    reader.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for part in parts:
            exec(part, ns)
    finally:
        sys.setswitchinterval(interval)
        done.set()
        reader.join()
        trace.stop()
    assert failed == []
    assert trace.document()["status"]["notes"] == []
    assert trace.document()["status"]["steps"] == 150
    plain = run_plain(text)
    assert torch.equal(plain.ns["w"], ns["w"])


def test_async_functions() -> None:
    text = """
import asyncio
w = torch.ones(3, requires_grad=True)
async def part(k):
    await asyncio.sleep(0)
    y = w * k
    await asyncio.sleep(0)
    return y.sum()
async def main():
    return await asyncio.gather(part(1), part(2))
a, b = asyncio.run(main())
l = a + b
l.backward()
"""
    plain, traced = both(text)
    check_well(traced)
    assert_same(plain, traced)
    assert {"a", "b", "l", "w"} <= {n.name for n in traced.trace.graph.nodes}


# Start and stop ----------------------------------------------------------------------


def test_start_and_stop_are_idempotent() -> None:
    trace = leafmagic.trace()
    trace.start()
    trace.start()
    assert torch._C._len_torch_function_stack() == 1
    trace.stop()
    trace.stop()
    assert torch._C._len_torch_function_stack() == 0
    assert not trace.running


def test_stop_inside_a_function_called_by_torch() -> None:
    """A hook may end the trace: the mode is then off torch's stack, and comes back.

    It records nothing from then on, and the next stop takes it away for good.
    """
    ns: dict[str, Any] = {"torch": torch}
    text = """
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda g: stop())
(x * 2).sum().backward()
"""
    trace = leafmagic.trace()
    ns["stop"] = trace.stop
    trace.start()
    for part in compile_cell(text, "<ipython-input-98-stop>"):
        exec(part, ns)
    seen = trace.document()["status"]["events"]
    torch.ones(2) * 2
    trace.stop()
    assert torch._C._len_torch_function_stack() == 0
    assert trace.document()["status"]["events"] == seen


def test_interrupt_in_the_middle_leaves_nothing() -> None:
    text = """
x = torch.ones(2, requires_grad=True)
def hook(g):
    raise KeyboardInterrupt
x.register_hook(hook)
(x * 2).sum().backward()
"""
    ran = run_traced(text)
    assert type(ran.error) is KeyboardInterrupt
    assert torch._C._len_torch_function_stack() == 0
    assert ran.notes == []
    assert ran.node("x").state == "leaf"


def test_stop_takes_our_frames_out_even_if_explained_before() -> None:
    trace = leafmagic.trace()
    trace.start()
    error = None
    try:
        torch.ones(2) @ torch.ones(3)
    except RuntimeError as caught:
        error = caught
        trace.explain(error)
        trace.explain(error)
    finally:
        trace.stop(error)
    assert error is not None
    assert isinstance(error.__traceback__, TracebackType)
    assert not [f for f in frames_of(error) if "leafmagic" in f[0].rpartition("/tests/")[0]]
    assert len(getattr(error, "__notes__", [])) <= 1

"""What things are called, and where the notebook shows them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from tracing_kit import Ran, check_well, run_traced


def traced(text: str, **options: Any) -> Ran:
    ran = run_traced(text, **options)
    check_well(ran)
    return ran


def where(ran: Ran, name: str) -> tuple[int | None, str]:
    node = ran.node(name)
    return node.line, node.source


# Statements: what a variable is bound to, and where -------------------------------------

BINDINGS = {
    "plain": ("y = x * 2", "y", 2, "x * 2"),
    "annotated": ("y: object = x * 2", "y", 2, "x * 2"),
    "chained": ("y = z = x * 2", "z", 2, "x * 2"),
    "walrus": ("print((y := x * 2).shape)", "y", 2, "x * 2"),
    "walrus in a condition": (
        "if (y := (x * 2).sum()) is not None:\n    pass",
        "y",
        2,
        "(x * 2).sum()",
    ),
    "pair": ("y, z = x * 2, x + 1", "z", 2, "x + 1"),
    "unpacked": ("y, z = x.split(1)", "z", 2, "x.split(1)"),
    "starred": ("y, *rest = x.unbind()", "y", 2, "x.unbind()"),
    "nested": ("(y, (z, k)) = (x * 2, (x + 1, x - 1))", "k", 2, "x - 1"),
    "list target": ("[y, z] = x.split(1)", "y", 2, "x.split(1)"),
    "swapped": ("a = x * 2\nb = x * 3\na, b = b, a", "a", 3, "x * 3"),
    "augmented": ("y = x * 2\ny += 1", "y", 2, "x * 2"),
    "multi-line": ("y = (\n    x\n    * 2\n)", "y", 3, "x\n    * 2"),
    "call over lines": (
        "y = torch.add(\n    x,\n    1,\n)",
        "y",
        2,
        "torch.add(\n    x,\n    1,\n)",
    ),
    "backslash": ("y = x \\\n    * 2", "y", 2, "x \\\n    * 2"),
    "two on a line": ("y = x * 2; z = y + 1", "z", 2, "y + 1"),
    "with": ("with torch.enable_grad() as m:\n    y = x * 2", "y", 3, "x * 2"),
    "try": ("try:\n    y = x * 2\nfinally:\n    pass", "y", 3, "x * 2"),
    "except": ("try:\n    1 / 0\nexcept ZeroDivisionError:\n    y = x * 2", "y", 5, "x * 2"),
    "else": ("if False:\n    pass\nelse:\n    y = x * 2", "y", 5, "x * 2"),
    "match": ("match 1:\n    case 1:\n        y = x * 2", "y", 4, "x * 2"),
    "loop": ("for i in range(3):\n    y = x * i", "y", 3, "x * i"),
    "loop variable": ("for y in (x * 2).unbind():\n    pass", "y", 2, "(x * 2).unbind()"),
    "while": ("i = 0\nwhile i < 2:\n    i += 1\n    y = x * i", "y", 5, "x * i"),
    "loop in else": ("for i in range(1):\n    pass\nelse:\n    y = x * 2", "y", 5, "x * 2"),
    "tabs": ("if True:\n\ty = x * 2", "y", 3, "x * 2"),
    "unicode": ("größe = x * 2  # 😀", "größe", 2, "x * 2"),
    "emoji before": ("s = '😀😀'; y = x * 2", "y", 2, "x * 2"),
    "comment before": ("# a comment\n\n\ny = x * 2", "y", 5, "x * 2"),
    "string over lines": ("s = '''a\nb'''\ny = x * 2", "y", 4, "x * 2"),
    "nested call": ("y = torch.relu(torch.exp(x * 2))", "y", 2, "torch.relu(torch.exp(x * 2))"),
    "method chain": ("y = x.mul(2).add(1).sum()", "y", 2, "x.mul(2).add(1).sum()"),
    "conditional": ("y = x * 2 if True else x", "y", 2, "x * 2"),
    "lambda": ("f = lambda t: t * 2\ny = f(x)", "y", 2, "t * 2"),
    "starred call": ("y = torch.cat([*x.split(1)])", "y", 2, "torch.cat([*x.split(1)])"),
    "subscript": ("y = x[0]", "y", 2, "x[0]"),
    "slices": ("y = x[None, ..., 1:]", "y", 2, "x[None, ..., 1:]"),
    "attribute": ("y = x.T", "y", 2, "x.T"),
    "unary": ("y = -x", "y", 2, "-x"),
    "reflected": ("y = 2 - x", "y", 2, "2 - x"),
    "power": ("y = x ** 2", "y", 2, "x ** 2"),
    "matmul": ("y = x @ x", "y", 2, "x @ x"),
    "comparison chain": ("y = (x > 0) & (x < 5)", "y", 2, "(x > 0) & (x < 5)"),
    "f-string": ("s = f'{(y := x * 2).shape}'", "y", 2, "x * 2"),
}


@pytest.mark.parametrize("case", BINDINGS)
def test_binding(case: str) -> None:
    text, name, line, source = BINDINGS[case]
    ran = traced(f"x = torch.ones(2, requires_grad=True)\n{text}")
    assert where(ran, name) == (line, source)
    assert ran.node("x").line == 1


def test_columns_are_counted_in_characters() -> None:
    ran = traced("é = '😀'; x = torch.ones(2, requires_grad=True)\nß = (x * 2)")
    x, y = ran.node("x"), ran.node("ß")
    assert (x.column, x.end_column) == (13, 46)
    assert (y.column, y.end_column) == (5, 10)


def test_columns_after_tabs() -> None:
    ran = traced("if True:\n\tx = torch.ones(2, requires_grad=True)")
    assert ran.node("x").column == 5


def test_span_of_an_expression_over_lines() -> None:
    ran = traced("x = torch.ones(2, requires_grad=True)\ny = (\n  x\n  * 2\n)")
    node = ran.node("y")
    assert (node.line, node.end_line, node.column, node.end_column) == (3, 4, 2, 5)


# Rebinding -------------------------------------------------------------------------------


def test_history_of_a_name() -> None:
    ran = traced(
        "b = torch.ones(2, requires_grad=True)\nc = torch.ones(2)\na = torch.zeros(2, requires_grad=True)\n"
        "a = b + c\na = a + 1\na.sum().backward()"
    )
    bound = [
        (n.line, n.state, [(k.name, k.line, k.current) for k in n.names])
        for n in ran.trace.graph.nodes
        if n.kind == "tensor" and any(k.name == "a" for k in n.names)
    ]
    assert bound == [
        (3, "dead name", [("a", 3, False)]),
        (4, "non-leaf", [("a", 4, False)]),
        (5, "non-leaf", [("a", 5, True)]),
    ]


def test_a_second_name_for_the_same_tensor() -> None:
    ran = traced("a = torch.ones(2, requires_grad=True)\nb = a\na = None")
    node = ran.node("b")
    assert node.state == "leaf"
    assert [(k.name, k.current) for k in node.names] == [("a", False), ("b", True)]


def test_deleted_name() -> None:
    ran = traced("a = torch.ones(2, requires_grad=True)\ny = a * 2\ndel a")
    leaf = next(n for n in ran.trace.graph.nodes if n.is_leaf)
    assert [(k.name, k.current) for k in leaf.names] == [("a", False)]
    assert leaf.state == "dead name"


def test_swapped_names() -> None:
    ran = traced(
        "a = torch.ones(1, requires_grad=True)\nb = torch.ones(2, requires_grad=True)\na, b = b, a"
    )
    assert ran.node("a").shape == (2,)
    assert ran.node("b").shape == (1,)
    assert ran.node("a").state == ran.node("b").state == "leaf"


def test_names_from_an_earlier_cell() -> None:
    ns: dict[str, Any] = {"torch": torch, "__name__": "__main__"}
    check_well(run_traced("w = torch.ones(2, requires_grad=True)\nunused = torch.ones(1)", ns))
    ran = run_traced("y = w * 2", ns)
    check_well(ran)
    assert ran.node("w").state == "leaf"
    assert ran.node("w").line is None or ran.node("w").cell != ran.node("y").cell
    with pytest.raises(KeyError):
        ran.node("unused")


def test_a_loop_counts_and_keeps_one_node() -> None:
    ran = traced(
        "w = torch.ones(2, requires_grad=True)\nfor i in range(5):\n    y = w * i\n    y.sum().backward()\n    w.grad = None"
    )
    nodes = [n for n in ran.trace.graph.nodes if n.name == "y"]
    assert [(n.line, n.count) for n in nodes] == [(3, 5)]
    assert ran.trace.document()["status"]["steps"] == 5


def test_name_bound_to_something_else_and_back() -> None:
    ran = traced("a = torch.ones(2, requires_grad=True)\nk = a\na = 3\na = k\ny = a * 2")
    assert ran.node("a").state == "leaf"
    assert len([n for n in ran.trace.graph.nodes if n.is_leaf]) == 1


# Functions, classes, files -----------------------------------------------------------------


def test_local_variables_of_a_function() -> None:
    ran = traced("""w = torch.ones(2, requires_grad=True)
def f(t):
    h = t * 2
    k = h.exp()
    return k.sum()
l = f(w)
l.backward()""")
    assert where(ran, "h") == (3, "t * 2")
    assert where(ran, "k") == (4, "h.exp()")
    assert ran.node("l").line == 5
    assert ran.node("w").state == "leaf"


def test_nested_functions_and_closures() -> None:
    ran = traced("""w = torch.ones(2, requires_grad=True)
def outer(t):
    a = t * 2
    def inner():
        b = a + 1
        return b
    return inner
c = outer(w)()""")
    assert where(ran, "a") == (3, "t * 2")
    assert ran.node("c").line == 5


def test_decorated_function() -> None:
    ran = traced("""import functools
def deco(f):
    @functools.wraps(f)
    def g(*a):
        return f(*a)
    return g
w = torch.ones(2, requires_grad=True)
@deco
@deco
def f(t):
    h = t * 2
    return h
y = f(w)""")
    assert ran.node("y").line == 11


def test_comprehension() -> None:
    ran = traced(
        "w = torch.ones(2, requires_grad=True)\nys = [w * i for i in range(3)]\nt = sum(ys)"
    )
    ops = [n for n in ran.trace.graph.nodes if n.kind == "op" and n.op == "mul"]
    assert {n.line for n in ops} == {2}
    assert sum(n.count for n in ops) == 3
    assert {"ys[0]", "ys[1]", "ys[2]"} <= {n.name for n in ran.trace.graph.nodes}


def test_attributes_of_an_object() -> None:
    ran = traced("""class State:
    def step(self, t):
        self.h = t * 2
        return self.h.sum()
w = torch.ones(2, requires_grad=True)
s = State()
l = s.step(w)""")
    assert where(ran, "self.h") == (3, "t * 2")


def test_items_of_a_dict() -> None:
    ran = traced("w = torch.ones(2, requires_grad=True)\nd = {}\nd['h'] = w * 2\nl = d['h'].sum()")
    node = ran.node("d['h']")
    assert (node.line, node.source) == (3, "w * 2")


def test_global_rebound_in_a_function() -> None:
    ran = traced("""w = torch.ones(2, requires_grad=True)
def update():
    global w
    w = w * 2
update()
y = w + 1""")
    node = ran.node("w")
    assert node.state == "non-leaf"
    assert node.line == 4
    leaf = next(n for n in ran.trace.graph.nodes if n.is_leaf)
    assert leaf.state == "dead name"
    assert [(k.name, k.current) for k in leaf.names] == [("w", False)]


def test_generator() -> None:
    ran = traced("""w = torch.ones(2, requires_grad=True)
def gen():
    for i in range(2):
        h = w * i
        yield h
for y in gen():
    z = y + 1""")
    assert ran.node("z").line == 7
    assert {n.line for n in ran.trace.graph.nodes if n.kind == "op" and n.op == "mul"} == {4}


def test_async_function() -> None:
    ran = traced("""import asyncio
w = torch.ones(2, requires_grad=True)
async def f():
    h = w * 2
    await asyncio.sleep(0)
    k = h + 1
    return k
y = asyncio.run(f())""")
    assert ran.node("h").line == 4
    assert ran.node("y").line == 6


def test_class_body() -> None:
    ran = traced("""w = torch.ones(2, requires_grad=True)
class Config:
    scale = w * 2
y = Config.scale + 1""")
    assert next(n for n in ran.trace.graph.nodes if n.op == "mul").line == 3


def test_code_in_another_file(tmp_path: Path) -> None:
    path = tmp_path / "helper_module.py"
    path.write_text("# a comment\ndef scale(t):\n    h = t * 2\n    return h + 1\n")
    spec = importlib.util.spec_from_file_location("helper_module", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    ns = {"torch": torch, "scale": module.scale, "__name__": "__main__"}
    ran = run_traced("w = torch.ones(2, requires_grad=True)\ny = scale(w)", ns)
    check_well(ran)
    node = ran.node("h")
    assert (node.line, node.cell, node.source) == (3, "helper_module.py", "t * 2")
    assert (ran.node("y").line, ran.node("y").cell) == (4, "helper_module.py")
    assert ran.node("y").names[0].line == 2


def test_exec_and_eval_do_no_harm() -> None:
    ran = traced("w = torch.ones(2, requires_grad=True)\nexec('y = w * 2')\nz = eval('y + 1')")
    assert ran.node("z").state == "non-leaf"
    assert {"w", "z"} <= {n.name for n in ran.trace.graph.nodes}


def test_library_code_is_climbed_over() -> None:
    ran = traced("""net = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
y = net(torch.ones(1, 2, 4))
l = y.sum()""")
    lines = {n.line for n in ran.trace.graph.nodes if n.kind == "op"}
    assert lines == {2, 3}
    assert {n.cell for n in ran.trace.graph.nodes if n.kind == "op"} == {ran.node("l").cell}


def test_no_source_is_no_failure() -> None:
    code = compile(
        "w = torch.ones(2, requires_grad=True)\ny = w * 2", "<ipython-input-lost>", "exec"
    )
    import leafmagic

    ns: dict[str, Any] = {"torch": torch}
    with leafmagic.trace() as trace:
        exec(code, ns)
    assert trace.document()["status"]["notes"] == []
    assert [n.line for n in trace.graph.nodes if n.kind == "op"] == [2]


# Modules -----------------------------------------------------------------------------------


def names_of(ran: Ran) -> set[str]:
    return {
        n.name
        for n in ran.trace.graph.nodes
        if n.kind == "tensor" and n.is_leaf and n.requires_grad
    }


MODULES = {
    "sequential": (
        "net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))\nl = net(torch.ones(1, 2))",
        {"net.0.weight", "net.0.bias", "net.1.weight", "net.1.bias"},
    ),
    "own class": (
        """class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(2))
        self.inner = torch.nn.ModuleDict({'a': torch.nn.Linear(2, 1)})
    def forward(self, x):
        return self.inner['a'](x * self.scale)
model = Net()
l = model(torch.ones(1, 2))""",
        {"model.scale", "model.inner.a.weight", "model.inner.a.bias"},
    ),
    "local in a function": (
        """def run():
    net = torch.nn.Linear(2, 1)
    out = net(torch.ones(1, 2))
    return out
l = run()""",
        {"net.weight", "net.bias"},
    ),
    "in a list": (
        "nets = [torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)]\nl = nets[1](nets[0](torch.ones(1, 2)))",
        {"nets[0].weight", "nets[0].bias", "nets[1].weight", "nets[1].bias"},
    ),
    "in a dict": (
        "nets = {'g': torch.nn.Linear(2, 1)}\nl = nets['g'](torch.ones(1, 2))",
        {"nets['g'].weight", "nets['g'].bias"},
    ),
    "tied": (
        """a = torch.nn.Linear(2, 2, bias=False)
b = torch.nn.Linear(2, 2, bias=False)
b.weight = a.weight
l = b(a(torch.ones(1, 2)))""",
        {"a.weight"},
    ),
    "parameter of its own": ("p = torch.nn.Parameter(torch.ones(2))\nl = (p * 2).sum()", {"p"}),
    "list of parameters": (
        "ps = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]\nl = ps[0] + ps[1]",
        {"ps[0]", "ps[1]"},
    ),
    "on three dimensions": (
        "net = torch.nn.Linear(2, 1)\nl = net(torch.ones(2, 2, 2)).sum()",
        {"net.weight", "net.bias"},
    ),
    "lstm": (
        "lstm = torch.nn.LSTM(2, 3)\nl = lstm(torch.ones(1, 1, 2))[0].sum()",
        {"lstm.weight_ih_l0", "lstm.weight_hh_l0", "lstm.bias_ih_l0", "lstm.bias_hh_l0"},
    ),
    "functional": (
        "net = torch.nn.Linear(2, 1)\nl = torch.nn.functional.linear(torch.ones(1, 2), net.weight)",
        {"net.weight"},
    ),
}


@pytest.mark.parametrize("case", MODULES)
def test_parameters_have_their_path(case: str) -> None:
    text, expected = MODULES[case]
    ran = traced(text)
    # What a constructor made and nothing used may be left out or be there without a name.
    assert names_of(ran) - {"", "net.bias"} == expected - {"net.bias"}
    ends = {e.target for e in ran.trace.graph.edges if e.kind == "next"}
    used = {n.name for n in ran.trace.graph.nodes if n.is_leaf and n.requires_grad and n.id in ends}
    assert used == expected


def test_module_attribute() -> None:
    ran = traced("net = torch.nn.Linear(2, 1)\nl = net(torch.ones(1, 2))")
    assert ran.node("net.weight").module == "net.weight"
    assert ran.node("l").module is None


def test_buffers_have_their_path_and_no_gradient() -> None:
    ran = traced("net = torch.nn.BatchNorm1d(2)\nl = net(torch.ones(3, 2)).sum()\nl.backward()")
    assert {"net.weight", "net.bias"} <= names_of(ran)
    buffers = [n for n in ran.trace.graph.nodes if n.name.startswith("net.running")]
    assert all(n.state == "frozen leaf" for n in buffers)


# graph_of, trace outside IPython ------------------------------------------------------------


def test_trace_in_a_script(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, leafmagic\n"
        "w = torch.ones(2, requires_grad=True)\n"
        "with leafmagic.trace() as t:\n"
        "    y = w * 2\n"
        "    l = y.sum()\n"
        "    l.backward()\n"
        "    bad = y.grad\n"
        "print(t.graph.named('y').line, t.graph.named('y').cell, t.graph.named('w').state)\n"
        "f, = t.findings\n"
        "print(f.kind, f.variable, f.line, f.symptom_line, f.cell)\n"
    )
    import subprocess

    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "4 script.py leaf",
        "nonleaf_grad_read y 4 7 script.py",
    ]
    # Nothing of ours is shown there, so torch's own warning is.
    assert done.stderr.count("Warning") == 1
    assert "script.py:7: UserWarning: The .grad attribute" in done.stderr


def test_trace_in_a_function_of_a_test() -> None:
    import leafmagic

    with leafmagic.trace() as trace:
        w = torch.ones(2, requires_grad=True)
        h = w * 2
        loss = h.sum()
        loss.backward()
    names = {n.name for n in trace.graph.nodes}
    assert {"w", "h", "loss"} <= names
    assert trace.graph.named("h").source == "w * 2"


def test_a_new_parameter_at_an_old_address_keeps_its_own_name() -> None:
    ran = run_traced("""import torch
net = torch.nn.Linear(2, 2)
net(torch.ones(1, 2)).sum().backward()
for _ in range(100):
    at = {id(net.weight), id(net.bias)}
    del net
    fresh = [torch.nn.Parameter(torch.ones(2, 2)) for _ in range(20)]
    mine = [p for p in fresh if id(p) in at]
    if mine:
        break
    net = torch.nn.Linear(2, 2)
    net(torch.ones(1, 2)).sum().backward()
del fresh
q = mine[0]
del mine
y = q * 2""")
    check_well(ran)
    names = {n.name for n in ran.trace.graph.nodes if n.kind == "tensor"}
    assert "q" in names, names

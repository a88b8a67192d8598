"""What torch refuses, and hooks: what is told, what is not, and that nothing is kept."""

from __future__ import annotations

import functools
import gc
import weakref

import pytest
import torch
from tracing_kit import run_traced

from leafmagic.hooked import alike_hooks

QUIET = {
    "a hook that removes itself": """
w = torch.ones(2, requires_grad=True)
for _ in range(3):
    def hook(g):
        handle.remove()
    handle = w.register_hook(hook)
    w.grad = None
    (w * 2).sum().backward()
""",
    "a hooked tensor is handed on, and kept": """
kept = {}
def keep(t):
    kept["x"] = t
    return t
a = torch.ones(3, requires_grad=True)
keep(a.exp()).register_hook(lambda g: None)
""",
    "hooks with one code and masks of their own": """
net = torch.nn.Linear(2, 2)
def masked(mask):
    return lambda g: g * mask
for k in range(2):
    net.weight.register_hook(masked(torch.ones(2, 2) * k))
    net.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
""",
    "methods of different objects": """
class Scale:
    def __init__(self, k):
        self.k = k
    def hook(self, g):
        return g * self.k
w = torch.ones(2, requires_grad=True)
for k in range(3):
    w.register_hook(Scale(k).hook)
    w.grad = None
    w.sum().backward()
""",
    "a view that was hooked and used before the write, and after": """
x = torch.ones(4, requires_grad=True)
h = x + 2
a = h[:2]
a.register_hook(lambda g: g)
first = a.sum()
h.add_(1)
(first + a.sum()).backward()
""",
    "an inactive in-place dropout changes nothing": """
drop, seen = torch.nn.Dropout(0.5, inplace=True).eval(), []
drop.register_forward_hook(lambda m, i, o: seen.append(i[0].clone()))
drop(torch.ones(3))
""",
    "a hook that prints sizes of all inputs": """
act = torch.nn.ReLU(inplace=True)
def sizes(module, given, out):
    print([t.size() for t in given], given[0].shape, len(given))
    for t in given:
        print(t.dtype)
act.register_forward_hook(sizes)
act(torch.ones(2))
""",
    "a module that writes to what it made itself": """
class Block(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.relu(x * 2, inplace=True)
block, seen = Block(), []
block.register_forward_hook(lambda m, i, o: seen.append(i[0].sum()))
block(torch.ones(2))
""",
    "real results of complex ops": """
a = torch.randn(3, 3, requires_grad=True)
values = torch.linalg.eigvals(a)
(values.abs().sum() + values.real.sum()).backward()
x = torch.randn(8, requires_grad=True)
torch.fft.irfft(torch.fft.rfft(x) * 2).sum().backward()
(x.to(torch.cfloat) * 1j).to(torch.complex128).abs().sum().backward()
""",
}

FOUND = {
    "a leaf under several views is the leaf's mistake": (
        "w = torch.ones(4, requires_grad=True)\na, b = w.chunk(2)\na += 1",
        ("leaf_inplace", "w", 3),
    ),
    "out= an expanded tensor": (
        "a = torch.ones(3)\no = torch.zeros(1).expand(3)\ntorch.add(a, a, out=o)",
        ("view_inplace_forbidden", "o", 2),
    ),
    "a view made under no_grad": (
        "h = torch.ones(4, requires_grad=True) * 1\nwith torch.no_grad():\n    v = h.view(2, 2)\n"
        "v.mul_(2)",
        ("view_inplace_forbidden", "v", 3),
    ),
    "what a custom function returned": (
        "class Same(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        return x.view_as(x)\n    @staticmethod\n    def backward(ctx, g):\n"
        "        return g\ny = Same.apply(torch.ones(4, requires_grad=True) * 2)\ny += 1",
        ("view_inplace_forbidden", "y", 8),
    ),
    "a list for a gradient": (
        "w = torch.ones(2, requires_grad=True)\nw.grad = [1., 2.]",
        ("backward_contract", "w", 2),
    ),
    "a gradient of another shape to begin with": (
        "y = torch.ones(2, requires_grad=True) * 2\ny.backward(torch.ones(3))",
        ("backward_contract", "y", 2),
    ),
    "a complex loss": (
        "z = torch.ones(1, dtype=torch.cfloat, requires_grad=True)\nloss = (z * 2).sum()\n"
        "loss.backward()",
        ("backward_contract", "loss", 2),
    ),
    "an attribute of an object that is no module": (
        "import copy\nclass Config:\n    pass\nc = Config()\n"
        "c.t = torch.ones(2, requires_grad=True) * 2\ncopy.deepcopy(c)",
        ("nonleaf_copy", "c.t", 5),
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_nothing_is_told(name: str) -> None:
    ran = run_traced(QUIET[name])
    assert ran.error is None
    assert ran.notes == []
    assert ran.found == set()


@pytest.mark.parametrize("name", FOUND)
def test_it_is_told_once_and_stands_under_the_error(name: str) -> None:
    text, expected = FOUND[name]
    ran = run_traced(text)
    assert ran.error is not None
    assert ran.notes == []
    assert ran.found == {expected}
    (finding,) = ran.trace.findings
    assert finding.severity == "error"
    assert [note.partition(" ")[2].startswith(finding.code) for note in ran.error.__notes__] == [
        True
    ]


def test_other_errors_with_such_words_are_left_alone() -> None:
    ran = run_traced('raise RuntimeError("Foo does not support sparse gradients")')
    assert ran.found == set()
    ran = run_traced(
        "@torch.compile(backend='eager')\ndef f(x):\n    return x.view(7)\nf(torch.ones(3))"
    )
    assert ran.error is not None
    assert ran.found == set()


def test_a_pile_of_hooks_is_one_finding_with_a_count() -> None:
    ran = run_traced(
        "w = torch.ones(1, requires_grad=True)\nfor _ in range(80):\n"
        "    w.register_hook(lambda g: None)\n    w.grad = None\n    w.sum().backward()"
    )
    (finding,) = ran.trace.findings
    assert (finding.code, finding.line, finding.count) == ("LM914", 3, 79)


def test_hooks_that_are_alike() -> None:
    w = torch.ones(2, requires_grad=True)
    assert alike_hooks(w) == 0

    def halve(g: torch.Tensor) -> torch.Tensor:
        return g / 2

    handles = [w.register_hook(halve) for _ in range(3)]
    assert alike_hooks(w) == 3
    w.register_hook(lambda g: g)
    assert alike_hooks(w) == 1
    handles[0].remove()
    w.register_hook(halve)
    assert alike_hooks(w) == 3

    def scale(k: float, g: torch.Tensor) -> torch.Tensor:
        return g * k

    for k in (0.5, 0.5, 2.0):
        w.register_hook(functools.partial(scale, k))
    assert alike_hooks(w) == 1
    w.register_hook(functools.partial(scale, 2.0))
    assert alike_hooks(w) == 2


REFUSED = {
    "deepcopy": "import copy\nnet.last = net(x)\ncopy.deepcopy(net)",
    "sparse": "e = torch.nn.Embedding(4, 2, sparse=True)\no = torch.optim.Adam(e.parameters())\n"
    "e(torch.tensor([1])).sum().backward()\no.step()",
    "hook": "y = net(x)\ny.register_hook(lambda g: g[0])\ny.sum().backward()",
    "compiled": "@torch.compile(backend='eager')\ndef f(t):\n    t.add_(1)\nf(leaf)",
}


@pytest.mark.parametrize("name", REFUSED)
def test_nothing_is_kept_of_what_was_refused(name: str) -> None:
    ns = {
        "__name__": "__main__",
        "torch": torch,
        "net": torch.nn.Linear(2, 2),
        "x": torch.ones(1, 2),
        "leaf": torch.zeros(2, requires_grad=True),
    }
    alive = [weakref.ref(ns["net"]), weakref.ref(ns["x"]), weakref.ref(ns["leaf"])]
    ran = run_traced(REFUSED[name], ns)
    assert len(ran.trace.findings) == 1
    trace = ran.trace
    ran.error = None
    ran.ns.clear()
    ns.clear()
    del ran
    torch._dynamo.reset()
    gc.collect()
    assert [ref() for ref in alive] == [None] * 3
    assert trace.findings

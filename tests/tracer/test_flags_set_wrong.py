"""Attributes that are no flag: what was assigned is kept, and a setting of one's own is none."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from tracing_kit import run_traced

IMPORTS = {"__name__": "__main__", "torch": torch, "nn": nn}

# Code, the variable and line, the fix, and an expression that is true once it is in place.
STRAY = {
    "tensor that is to require grad": (
        "x = torch.ones(2)\nx.require_grad = True",
        ("x", 2), "x.requires_grad = True", "x.requires_grad"),
    "module that is to be trained": (
        "net = nn.Linear(2, 1).requires_grad_(False)\nnet.requires_grad = True",
        ("net", 2), "net.requires_grad_(True)", "net.weight.requires_grad"),
    "module and an expression": (
        "net, k = nn.Sequential(nn.Linear(2, 1)), 3\nnet[0].requires_grad = k > 5",
        ("net[0]", 2), "net[0].requires_grad_(k > 5)", "not net[0].weight.requires_grad"),
    "parameters and an expression": (
        "net = nn.Linear(2, 1)\nfor i, p in enumerate(net.parameters()):\n    p.requires_grads = i == 0",
        ("p", 3), "p.requires_grad = i == 0", "not net.bias.requires_grad"),
    "misspelt on a module": (
        "net = nn.Linear(2, 1)\nnet.require_grad = False",
        ("net", 2), "net.requires_grad_(False)", "not net.weight.requires_grad"),
    "tensor that a function is given": (
        "def on(t):\n    t.require_grad = True\nx = torch.ones(2)\non(x)",
        ("t", 2), "t.requires_grad = True", "x.requires_grad"),
    "on and off in two functions": (
        "def on(t):\n    t.require_grad = True\ndef off(t):\n    t.require_grad = False\nx = torch.ones(2)\non(x)",
        ("t", 2), "t.requires_grad = True", "x.requires_grad"),
    "module in a trainer": (
        "class Trainer:\n    def __init__(self, net):\n        self.net = net\n        self.net.requires_grad = False\nnet = nn.Linear(2, 1)\nTrainer(net)",
        ("self.net", 4), "self.net.requires_grad_(False)", "not net.weight.requires_grad"),
}  # fmt: skip


@pytest.mark.parametrize("case", STRAY)
def test_what_was_assigned_is_kept(case: str) -> None:
    text, place, fix, then = STRAY[case]
    ran = run_traced(text, dict(IMPORTS))
    (finding,) = ran.trace.findings
    assert (finding.kind, finding.variable, finding.line) == ("requires_grad_flag", *place)
    assert finding.fix == fix
    assert finding.severity == "warning"
    ns = dict(IMPORTS)
    assert not eval(then, ran.ns)
    assert run_traced(ran.trace.fixed_source(), ns).found == set()
    assert eval(then, ns)


def test_several_targets_are_told_one_by_one() -> None:
    ran = run_traced(
        "a = torch.ones(1)\nb = nn.Linear(1, 1)\na.require_grad = b.requires_grad = False",
        dict(IMPORTS),
    )
    assert {(f.variable, f.fix) for f in ran.trace.findings} == {
        ("a", "a.requires_grad = False"),
        ("b", "b.requires_grad_(False)"),
    }


OWN = {
    "setting of a module": """
class Block(nn.Module):
    def __init__(self, flag):
        super().__init__()
        self.lin = nn.Linear(2, 2)
        self.requires_grad = flag
        for p in self.lin.parameters():
            p.requires_grad = flag
        self.lin.bias.requires_grad = self.requires_grad
block = Block(False)
""",
    "setting of a module, changed from outside": """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.requires_grad = True
    def forward(self, x):
        return x if self.requires_grad else x.detach()
block = Block()
block.requires_grad = False
""",
    "setting that a class has": """
class Block(nn.Module):
    requires_grad = True
block = Block()
block.requires_grad = False
""",
    "setting of a base class": """
class Base(nn.Module):
    def frozen(self):
        return not self.requires_grad
class Block(Base):
    pass
block = Block()
block.requires_grad = False
""",
    "plain class": """
class Settings:
    def __init__(self):
        self.requires_grad = True
        self.requires_grads = {}
settings = Settings()
settings.requires_grads = {"w": False}
net = nn.Linear(2, 2)
""",
    "object that another function is given": """
class Settings:
    pass
def fill(settings):
    settings.require_grad = False
    settings.requires_grad = False
settings, net = Settings(), nn.Linear(2, 2)
fill(settings)
""",
    "names of one's own on a module": """
net = nn.Linear(2, 2)
net.requires_grads = ["weight"]
""",
}


@pytest.mark.parametrize("case", OWN)
def test_a_setting_of_ones_own_is_no_flag(case: str) -> None:
    ran = run_traced(OWN[case], dict(IMPORTS))
    assert ran.error is None
    assert ran.trace.findings == ()


def test_right_code_is_not_blamed_for_what_an_earlier_cell_did() -> None:
    ns = dict(IMPORTS)
    first = run_traced("net = nn.Linear(2, 2)\nnet.requires_grad = False", ns)
    assert first.found == {("requires_grad_flag", "net", 2)}
    again = run_traced(
        "def freeze(module):\n    for p in module.parameters():\n        p.requires_grad = False\nfreeze(net)",
        ns,
    )
    assert again.trace.findings == ()


def test_the_cell_that_is_run_again_is_told_again() -> None:
    ns = {**IMPORTS, "net": nn.Linear(2, 2)}
    for _ in range(2):
        ran = run_traced("net.requires_grad = False", ns)
        assert ran.found == {("requires_grad_flag", "net", 1)}


LIBRARY = "def checkpointed(x):\n    x.requires_grad_()\n    return x * 2\n"
"""What a library's hook does to see to it that its inputs require grad."""


def test_what_a_library_does_on_the_way_is_not_the_cells() -> None:
    space = dict(IMPORTS)
    exec(compile(LIBRARY, f"{torch.__file__}/../library.py", "exec"), space)
    text = (
        "w = torch.ones(3, requires_grad=True)\n"
        "for _ in range(3):\n"
        "    out = checkpointed(w * 2)\n"
        "    out.sum().backward()\n"
        "late = checkpointed(torch.ones(2))\n"
    )
    ran = run_traced(text, space)
    assert ran.error is None
    assert ran.trace.findings == ()
    # Each name is what the line makes it, and the library's own tensors do not add up.
    assert [node.op for node in ran.trace.graph.nodes if node.name == "out"] == ["mul"]
    own = "def checkpointed(x):\n    x.requires_grad_()\n    return x * 2\n"
    ran = run_traced(own + text, dict(IMPORTS))
    assert {(f.code, f.severity, f.variable) for f in ran.trace.findings} == {
        ("LM301", "info", "x")
    }

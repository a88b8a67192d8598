"""One odd object among the variables: it is left out, and all the rest is seen."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from tracing_kit import run_traced

CANARY = """
w = torch.ones(2, requires_grad=True)
kept = [w * 2]
h = w.exp()
(h.sum() + kept[0].sum() + net(torch.ones(1, 2)).sum()).backward()
h.grad
"""

ODD = {
    "module without super().__init__()": """
class Bare(nn.Module):
    def __init__(self):
        self.size = 3
odd = Bare()
odds = [Bare()]
""",
    "class that raises": """
class Lazy:
    @property
    def __class__(self):
        raise RuntimeError("not loaded")
odd = Lazy()
odds, more = [Lazy(), Lazy(), Lazy()], {"a": Lazy()}
""",
    "class that claims to be a module": """
class Claims:
    __class__ = nn.Module
odd = Claims()
odds = [Claims()]
""",
    "parameters that raise": """
class Loud(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))
    def _loud(self, *args, **kwargs):
        calls.append(1)
        raise RuntimeError("not now")
    def forward(self, x):
        return x
    named_parameters = named_buffers = named_modules = parameters = modules = _loud
calls = []
odd = Loud()
odds = [Loud()]
net.odd = Loud()
""",
    "module made by __new__ only": "odd = nn.Linear.__new__(nn.Linear)\nnet.append(nn.Identity())\n",
    "part that is not made yet": """
odd = nn.Linear(2, 2)
del odd.__dict__["_modules"]
net[0].odd = [nn.Linear.__new__(nn.Linear)]
""",
    "key with a loud repr": """
class Key:
    def __repr__(self):
        calls.append(1)
        raise RuntimeError("not now")
    __str__ = __repr__
calls = []
odd = {Key(): torch.ones(2, requires_grad=True), (Key(), 1): [1], "z": [2]}
net.odd = {Key(): torch.ones(2)}
""",
    "optimizer half made": """
class Half(torch.optim.SGD):
    def __init__(self):
        pass
odd, odder = torch.optim.SGD.__new__(torch.optim.SGD), Half()
odds = {"a": Half()}
""",
    "attributes that raise": """
class Shut:
    def __getattribute__(self, name):
        calls.append(1)
        raise RuntimeError("not now")
calls = []
odd = Shut()
odds = [Shut(), Shut(), Shut()]
""",
    "no comparison": """
class Mute:
    def _mute(self, *args):
        calls.append(1)
        raise RuntimeError("not now")
    __eq__ = __bool__ = __hash__ = __len__ = __iter__ = _mute
calls = []
odd = Mute()
odds, more = [Mute(), Mute(), Mute()], {"a": Mute()}
""",
    "metaclass that raises": """
class Meta(type):
    def __getattribute__(cls, name):
        if name in ("__module__", "__dict__", "__qualname__"):
            raise RuntimeError("not now")
        return super().__getattribute__(name)
class Odd(metaclass=Meta):
    pass
odd = Odd()
""",
    "tensor that raises": """
class Hidden(torch.Tensor):
    @property
    def requires_grad(self):
        raise ValueError("not now")
    is_leaf = grad = grad_fn = requires_grad
odd = torch.ones(2).as_subclass(Hidden)
odds, more = [odd], {"a": odd}
""",
}


@pytest.mark.parametrize("case", ODD)
def test_the_rest_is_seen(case: str) -> None:
    head = "net = nn.Sequential(nn.Linear(2, 2))\n"
    ns = {"__name__": "__main__", "torch": torch, "nn": nn}
    ran = run_traced(head + ODD[case] + CANARY, ns)
    assert ran.error is None
    assert ran.notes == []
    assert [(f.kind, f.variable) for f in ran.trace.findings] == [("nonleaf_grad_read", "h")]
    names = {node.name for node in ran.trace.graph.nodes}
    assert {"kept[0]", "net.0.weight"} <= names
    assert ns.get("calls", []) == []  # Nothing of the user's was run.


@pytest.mark.parametrize("case", ODD)
def test_the_next_cell_and_an_error_are_as_ever(case: str) -> None:
    ns = {"__name__": "__main__", "torch": torch, "nn": nn}
    exec("net = nn.Sequential(nn.Linear(2, 2))\n" + ODD[case], ns)
    ran = run_traced("w = torch.ones(2, requires_grad=True)\nw += 1", ns)
    assert type(ran.error) is RuntimeError
    assert ran.notes == []
    assert ran.found == {("leaf_inplace", "w", 2)}

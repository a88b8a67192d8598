"""What is frozen, cut off or not registered: the line that did it, and the mended cell."""

from __future__ import annotations

import textwrap

import pytest
from tracing_kit import run_traced

THAWED: dict[str, tuple[str, str]] = {
    "a loop over parameters": (
        """
        net = torch.nn.Linear(3, 1)
        for p in net.parameters():
            p.requires_grad = False  # it
        net(torch.ones(2, 3)).sum().backward()
        """,
        "net.weight.grad",
    ),
    "a loop in one line": (
        """
        net = torch.nn.Linear(3, 1)
        for p in net.parameters(): p.requires_grad = False  # it
        net(torch.ones(2, 3)).sum().backward()
        """,
        "net.weight.grad",
    ),
    "a tensor": (
        """
        w = torch.ones(3, requires_grad=True)
        w.requires_grad_(False)  # it
        (w * 2).sum().backward()
        """,
        "w.grad",
    ),
    "a module, at the making": (
        """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 1).requires_grad_(False)  # it
            def forward(self, x):
                return self.fc(x)
        net = Net()
        net(torch.ones(2, 3)).sum().backward()
        """,
        "net.fc.weight.grad",
    ),
    "a module in its __init__": (
        """
        class Net(torch.nn.Module):
            def __init__(self, size):
                super().__init__()
                self.fc = torch.nn.Linear(size, 1)
                for p in self.parameters():
                    p.requires_grad = False  # it
            def forward(self, x):
                return self.fc(x)
        net = Net(3)
        net(torch.ones(2, 3)).sum().backward()
        """,
        "net.fc.bias.grad",
    ),
}


@pytest.mark.parametrize("cell", THAWED)
def test_a_frozen_leaf_is_told_at_the_line_that_froze_it(cell: str) -> None:
    text, grad = textwrap.dedent(THAWED[cell][0]).strip("\n"), THAWED[cell][1]
    ran = run_traced(text)
    (found,) = ran.trace.findings
    assert found.code == "LM402"
    (line,) = (n for n, words in enumerate(text.split("\n"), 1) if "# it" in words)
    assert found.line == line
    assert f"line {line} freezes" in found.message
    mended = run_traced(ran.trace.fixed_source())
    assert mended.error is None
    assert mended.trace.findings == ()
    assert eval(grad, mended.ns) is not None


def test_a_function_that_freezes_what_it_is_given_is_left_as_it_is() -> None:
    ran = run_traced(
        "net = torch.nn.Linear(2, 1)\n"
        "def freeze(module):\n"
        "    for p in module.parameters():\n"
        "        p.requires_grad = False\n"
        "freeze(net)\n"
        "net(torch.ones(1, 2)).sum().backward()"
    )
    (found,) = ran.trace.findings
    assert (found.line, found.edits) == (4, ())
    assert found.fix.startswith("net.requires_grad_(True)")


FORCED = {
    "a statement": "loss = torch.nn.functional.mse_loss(out, y)\nloss.requires_grad = True",
    "a method": "loss = torch.nn.functional.mse_loss(out, y)\nloss.requires_grad_()",
    "in the expression": "loss = torch.nn.functional.mse_loss(out, y).requires_grad_()",
}


@pytest.mark.parametrize("how", FORCED)
def test_a_net_that_no_grad_keeps_from_its_optimizer_is_a_warning(how: str) -> None:
    ran = run_traced(
        "x, y = torch.ones(5, 3), torch.ones(5, 1)\n"
        "net = torch.nn.Linear(3, 1)\n"
        "opt = torch.optim.SGD(net.parameters(), 0.1)\n"
        "with torch.no_grad():\n"
        "    out = net(x)\n"
        f"{FORCED[how]}\n"
        "loss.backward()\n"
        "opt.step()"
    )
    (found,) = ran.trace.findings
    assert (found.code, found.severity, found.line) == ("LM403", "warning", 4)
    mended = run_traced(ran.trace.fixed_source())
    assert mended.error is None
    assert [f for f in mended.trace.findings if f.severity != "info"] == []
    assert mended.ns["net"].weight.grad is not None


TRAINED = """
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(2, 3)).square().sum().backward()
    opt.step()
"""
UNWIRED: dict[str, tuple[str, str, str]] = {
    "another word for self": (
        """
        class Net(torch.nn.Module):
            def __init__(this):
                super().__init__()
                this.fc = torch.nn.Linear(3, 3)
                this.w = torch.ones(3, 3, requires_grad=True)  # it
            def forward(this, x):
                return this.fc(x) @ this.w
        net = Net()
        """,
        "net.w",
        "LM422",
    ),
    "layers in a list of another self": (
        """
        class Net(torch.nn.Module):
            def __init__(s, n):
                super().__init__()
                s.fc = torch.nn.Linear(3, 3)
                s.more = [torch.nn.Linear(3, 3) for _ in range(n)]  # it
            def forward(s, x):
                for layer in [s.fc, *s.more]:
                    x = layer(x)
                return x
        net = Net(2)
        """,
        "net.more",
        "LM422",
    ),
    "an op behind Parameter, of another self": (
        """
        class Net(torch.nn.Module):
            def __init__(s):
                super().__init__()
                s.fc = torch.nn.Linear(3, 3)
                s.w = torch.nn.Parameter(torch.ones(3, 2)).t()  # it
            def forward(s, x):
                return s.fc(x) @ s.w.t()
        net = Net()
        """,
        "s.w",
        "LM421",
    ),
    "setattr in a loop": (
        """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 3)
                for i in range(3):
                    setattr(self, f"a{i}", torch.ones(3, requires_grad=True))  # it
            def forward(self, x):
                return self.fc(x) * self.a0 * self.a1 * self.a2
        net = Net()
        """,
        "net.a0",
        "LM422",
    ),
    "with an annotation": (
        """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 3)
                self.w: torch.Tensor = torch.ones(3, requires_grad=True)  # it
            def forward(self, x):
                return self.fc(x) * self.w
        net = Net()
        """,
        "net.w",
        "LM422",
    ),
    "from outside": (
        """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 3)
            def forward(self, x):
                return self.fc(x) * self.scale
        net = Net()
        net.scale = torch.ones(3, requires_grad=True)  # it
        """,
        "net.scale",
        "LM422",
    ),
    "in an object that is no module": (
        """
        class Mixer:
            def __init__(self, n):
                self.lin = torch.nn.Linear(n, n)
            def __call__(self, x):
                return self.lin(x).tanh()
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = torch.nn.Linear(3, 3)
                self.mixer = Mixer(3)  # it
            def forward(self, x):
                return self.mixer(self.fc(x))
        net = Net()
        """,
        "net.mixer",
        "LM422",
    ),
}


@pytest.mark.parametrize("cell", UNWIRED)
def test_what_a_module_does_not_register_is_found_however_it_is_set(cell: str) -> None:
    code, variable, rule = UNWIRED[cell]
    text = textwrap.dedent(code).strip("\n") + TRAINED
    ran = run_traced(text)
    (found,) = ran.trace.findings
    (line,) = (n for n, words in enumerate(text.split("\n"), 1) if "# it" in words)
    assert (found.code, found.variable, found.line) == (rule, variable, line)
    before = len([*ran.ns["net"].parameters()])
    mended = run_traced(ran.trace.fixed_source())
    assert mended.error is None
    assert mended.trace.findings == ()
    assert len([*mended.ns["net"].parameters()]) > before


WIRED = {
    "an object with parts of the module, of which the optimizer has one": """
class Tied:
    def __init__(self, owner):
        self.owner, self.parts = owner, [owner.fc, owner.out]
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.out = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
        self.tied, self.all = Tied(self), [self.fc, self.out]
    def forward(self, x):
        return self.out(self.fc(x))
net = Net()
opt = torch.optim.SGD(net.out.parameters(), 0.1)
""",
    "an object whose layers the optimizer has, too": """
class Mixer:
    def __init__(self):
        self.lin = torch.nn.Linear(3, 3)
class Net(torch.nn.Module):
    def __init__(s):
        super().__init__()
        s.fc, s.mixer = torch.nn.Linear(3, 3), Mixer()
    def forward(s, x):
        return s.mixer.lin(s.fc(x))
net = Net()
opt = torch.optim.SGD([*net.parameters(), *net.mixer.lin.parameters()], 0.1)
""",
    "an input that is kept on the module, from outside": """
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
opt = torch.optim.SGD(net.parameters(), 0.1)
for _ in range(2):
    net.seen = torch.ones(2, 3, requires_grad=True)
    opt.zero_grad()
    net(net.seen).sum().backward()
    opt.step()
""",
    "an input that a hook keeps": """
net = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Linear(3, 3))
def keep(module, given):
    module.seen = given[0].detach().requires_grad_()
    return (module.seen,)
net[1].register_forward_pre_hook(keep)
opt = torch.optim.SGD([*net.parameters()], 0.1)
""",
}


@pytest.mark.parametrize("cell", WIRED)
def test_what_is_held_without_being_registered_may_be_right(cell: str) -> None:
    train = TRAINED.partition("\n")[2].partition("\n")[2]
    ran = run_traced(WIRED[cell].strip("\n") + "\n" + train)
    assert ran.error is None
    assert [f.explanation() for f in ran.trace.findings if f.code == "LM422"] == []


LOCAL: dict[str, tuple[str, str, str]] = {
    "a flag on a layer, and an optimizer": (
        "net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))\n"
        "opt = torch.optim.SGD(net.parameters(), 0.1)\n"
        "net[0].requires_grad = False\n"
        "opt.zero_grad()\n"
        "net(torch.ones(2, 3)).sum().backward()\n"
        "opt.step()",
        "LM301",
        "net[0].requires_grad_(False)",
    ),
    "a sum whose name ends in the word that is added": (
        "w = torch.ones(3, requires_grad=True)\n"
        "opt = torch.optim.SGD([w], 0.1)\n"
        "run_loss = 0.0\n"
        "for _ in range(4):\n"
        "    opt.zero_grad()\n"
        "    loss = (w * 2).sum()\n"
        "    loss.backward()\n"
        "    opt.step()\n"
        "    run_loss = run_loss + loss",
        "LM601",
        "run_loss = run_loss + loss.item()",
    ),
    "a list under a key that is the word that is stored": (
        "w = torch.ones(3, requires_grad=True)\n"
        "opt = torch.optim.SGD([w], 0.1)\n"
        "log = {'loss': []}\n"
        "for _ in range(4):\n"
        "    opt.zero_grad()\n"
        "    loss = (w * 2).sum()\n"
        "    loss.backward()\n"
        "    opt.step()\n"
        "    log['loss'].append(loss)",
        "LM602",
        "log['loss'].append(loss.item())",
    ),
}


@pytest.mark.parametrize("cell", LOCAL)
def test_a_local_fix_is_there_as_an_edit(cell: str) -> None:
    text, rule, line = LOCAL[cell]
    ran = run_traced(text)
    (found,) = ran.trace.findings
    assert (found.code, found.fix) == (rule, line)
    fixed = ran.trace.fixed_source()
    assert line in [words.strip() for words in fixed.split("\n")]
    assert run_traced(fixed).trace.findings == ()

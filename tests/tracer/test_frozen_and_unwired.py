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

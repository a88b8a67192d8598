"""Fixes that leave the code doing what it was written for, not merely without an error."""

from __future__ import annotations

import pytest
import torch
from tracing_kit import Ran, run_plain, run_traced


def mended(cell: str) -> tuple[Ran, str]:
    """Run a cell that raises, and then as all of its findings would mend it."""
    first = run_traced(cell)
    assert first.error is not None
    text = first.trace.fixed_source()
    second = run_traced(text)
    assert second.error is None
    assert not [f for f in second.trace.findings if f.severity != "info"]
    return second, text


def test_a_weight_that_is_scaled_in_its_line_is_trained_where_it_stands() -> None:
    _, text = mended(
        "W = torch.ones(3, 2, requires_grad=True) * 0.1\nfor i in range(3):\n"
        "    if i and W.grad is not None:\n        W.grad.zero_()\n"
        "    loss = ((torch.ones(4, 3) @ W - 1) ** 2).mean()\n    loss.backward()\n"
        "    print(W.grad)"
    )
    assert text.startswith("W = (torch.ones(3, 2) * 0.1).requires_grad_()\nfor i in range(3):\n")


MODULE = """
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3, 3)) * .1
        self.out = torch.nn.Linear(3, 1)
    def forward(self, x):
        return self.out(x @ self.w)
net = M()
opt = torch.optim.SGD(net.parameters(), lr=.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(2, 3)).pow(2).mean().backward()
    opt.step()
"""


def test_a_parameter_that_is_scaled_in_its_line_becomes_one_and_is_trained() -> None:
    ran, _ = mended(MODULE)
    assert "w" in dict(ran.ns["net"].named_parameters())
    assert not torch.equal(ran.ns["net"].w, torch.ones(3, 3) * 0.1)


CLASSES = """
X, y, net = torch.ones(4, 3), torch.arange(4) % 2, torch.nn.Linear(3, 2)
{}
loss.backward()
"""


@pytest.mark.parametrize(
    "lines",
    [
        "pred = net(X).argmax(1)\nloss = (pred != y).float().mean()",
        "out = net(X)\n_, pred = out.max(1)\nwrong = pred != y\nloss = wrong.float().mean()",
        "loss = 1 - (torch.argmax(net(X), dim=1) == y).float().mean()",
    ],
)
def test_a_share_of_right_answers_becomes_cross_entropy(lines: str) -> None:
    ran, text = mended(CLASSES.format(lines))
    assert "loss = torch.nn.functional.cross_entropy(" in text
    assert ran.ns["net"].weight.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        # What the line weighs it by would be lost.
        ("lam = .1\nloss = lam * (net(X).argmax(1) != y).float().mean()", "cross_entropy"),
        ("loss = (net(X).softmax(1).argmax(1) != y).float().mean()", "cross_entropy of its logits"),
        ("loss = ((net(X)[:, 0] > .5) != (y > 0)).float().mean()", "binary_cross_entropy"),
        ("loss = (net(X)[:, 0].round() == y).float().mean()", "mse_loss"),
        ("loss = (net(X).argmax(0) != y[:2]).float().mean()", "cross_entropy of its logits"),
    ],
)
def test_a_loss_of_decisions_is_mended_in_words_where_code_cannot_be_known(
    lines: str, words: str
) -> None:
    ran = run_traced(CLASSES.format(lines))
    (found,) = [f for f in ran.trace.findings if f.code == "LM402"]
    assert words in found.fix
    assert not found.edits


RUN_TWICE = "loss = (w * 2).sum()\nloss.backward()\nw = w - 0.1 * w.grad"


@pytest.mark.parametrize("traced", [True, False])
def test_an_update_that_is_run_again_is_told_where_it_stands(traced: bool) -> None:
    setup = "w = torch.ones(3, requires_grad=True)"
    first = (run_traced if traced else run_plain)(RUN_TWICE, run_plain(setup).ns)
    again = run_traced(RUN_TWICE, first.ns)
    assert isinstance(again.error, TypeError)
    (found,) = again.trace.findings
    assert (found.code, found.variable, found.line) == ("LM103", "w", 3)
    text = again.trace.fixed_source()
    last = run_traced(text, run_plain(setup).ns)
    for _ in range(2):
        assert last.error is None
        assert not last.trace.findings
        last = run_traced(text, last.ns)
    assert torch.allclose(last.ns["w"], torch.full((3,), 0.4))


def test_the_gradient_of_what_an_earlier_cell_computed_is_no_lost_leaf() -> None:
    ns = run_traced("w = torch.ones(3, requires_grad=True)\nh = w * 2").ns
    ran = run_traced("h.sum().backward()\nh = h - 0.1 * h.grad", ns)
    assert [f.code for f in ran.trace.findings] == ["LM101"]


def test_the_sign_of_a_gradient_is_no_update() -> None:
    ns = run_plain("w = torch.ones(3, requires_grad=True)\nx = w * 2").ns
    ran = run_traced("x.sum().backward()\nx = x + 0.1 * x.grad.sign()", ns)
    assert [f.code for f in ran.trace.findings] == ["LM101"]

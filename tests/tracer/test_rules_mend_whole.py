"""A fix mends all of a statement, and does not bring the mistake back."""

from __future__ import annotations

import pytest
import torch
from tracing_kit import run_traced


def test_a_mode_that_is_never_left_is_an_error_where_backward_raises() -> None:
    cell = (
        "w = torch.ones(2, requires_grad=True)\ntorch.no_grad().__enter__()\n"
        "loss = (w * 2).sum()\nloss.backward()"
    )
    try:
        ran = run_traced(cell)
        (found,) = ran.trace.findings
        assert (found.code, found.severity, found.line, found.symptom_line, found.count) == (
            "LM702",
            "error",
            2,
            4,
            1,
        )
        # As in a notebook, the mended cell runs where grad mode is still off.
        again = run_traced(ran.trace.fixed_source(), dict(ran.ns))
    finally:
        torch.set_grad_enabled(True)
    assert again.error is None
    assert again.ns["w"].grad.tolist() == [2, 2]


CHAINED = """
w = torch.ones(3, requires_grad=True)
a, loss = w * torch.zeros(3), 0
for _ in range(2):
    {}
    loss = loss + (a ** 2).sum()
loss.backward()
"""


def test_all_calls_of_a_chain_in_place_are_mended() -> None:
    ran = run_traced(CHAINED.format("a.mul_(.9).add_(w.mean() * .1, alpha=2)"))
    assert [f.fix for f in ran.trace.findings] == ["a = a.mul(.9).add(w.mean() * .1, alpha=2)"]
    again = run_traced(ran.trace.fixed_source())
    assert again.error is None
    right = run_traced(CHAINED.format("a = a * .9 + .2 * w.mean()"))
    assert torch.allclose(again.ns["w"].grad, right.ns["w"].grad)


@pytest.mark.parametrize(
    "line",
    ["a.mul_(.9).add_(a)", "a.mul_(.9).clamp(0)", "a.add_(w).zero_()"],
)
def test_a_chain_that_would_become_another_one_is_mended_in_words(line: str) -> None:
    ran = run_traced(CHAINED.format(line).replace("(a ** 2)", "(w * a ** 2)"))
    (fix,) = {f.fix for f in ran.trace.findings if f.code == "LM202"}
    assert fix.startswith("use a.clone() in line")


ENCODED = """
enc, dec = torch.nn.Linear(2, 1), torch.nn.Linear(1, 1)
z = enc(torch.ones(1, 2))
{}
dec(z).sum().backward()
print(enc.weight.grad)
"""


@pytest.mark.parametrize(
    ("lines", "fix"),
    [
        (
            "z = torch.tensor(z.tolist())",
            "delete this line: `z` is a tensor already, with its graph",
        ),
        (
            "k = 1; y = torch.tensor(z.tolist()); z = y",
            "y = z  # the tensor itself, without a copy",
        ),
        (
            "s = float(z)\nz = torch.tensor([[s]])",
            "keep the tensor, `s = z`, and use it as it is: `torch.tensor` copies numbers",
        ),
        (
            "z = torch.tensor([[z.item()]])",
            "keep `z` a tensor: no number of it, and no `torch.tensor`; "
            "torch.stack or reshape give it another shape",
        ),
        ("z = z.item() * torch.ones(1, 1)", "z = z * torch.ones(1, 1)  # a tensor all the way"),
    ],
)
def test_a_number_is_not_mended_by_a_line_that_cuts_again(lines: str, fix: str) -> None:
    ran = run_traced(ENCODED.format(lines))
    assert {f.fix for f in ran.trace.findings if f.code == "LM403"} == {fix}


def test_a_chain_whose_result_has_a_name_of_its_own_keeps_that_name() -> None:
    ran = run_traced(CHAINED.format("b = a.mul_(.9).add_(w)").replace("(a ** 2)", "(w * a ** 2)"))
    assert not {f.fix for f in ran.trace.findings} & {"a = a.mul(.9)", "a = a.mul(.9).add(w)"}


@pytest.mark.parametrize(
    ("given", "fix"),
    [("w * 2", "(w * 2).clone()"), ("-w", "(-w).clone()"), ("w.exp()", "w.exp().clone()")],
)
def test_a_copy_of_a_computation_is_mended_as_a_whole(given: str, fix: str) -> None:
    text = f"w = torch.ones(3, requires_grad=True)\nh = torch.tensor({given})\n"
    ran = run_traced(f"{text}v = torch.ones(3, requires_grad=True)\n(h * v).sum().backward()")
    assert {f.fix for f in ran.trace.findings if f.code == "LM401"} == {f"h = {fix}"}

"""What is said of a clamp that takes a gradient away."""

from __future__ import annotations

import pytest
import torch
from tracing_kit import run_traced


@pytest.mark.parametrize("start", ["[5.0, 0.2]", "[5.0, 6.0]"])
def test_nothing_is_said_of_where_clamped_elements_go(start: str) -> None:
    text = f"w = torch.tensor({start}, requires_grad=True)\n"
    text += "opt = torch.optim.AdamW([w], lr=0.1, weight_decay=0.5)\n"
    text += "(w.clamp(-1, 1) ** 2).sum().backward()\nbefore = w.detach().clone()\nopt.step()"
    ran = run_traced(text)
    assert bool((ran.ns["w"].detach() != ran.ns["before"]).all())
    assert torch.equal(ran.ns["w"].grad[:1], torch.zeros(1))
    (found,) = [found for found in ran.trace.findings if found.code == "LM901"]
    assert "backward gives these elements of `w` no gradient" in found.message
    assert "move" not in found.message

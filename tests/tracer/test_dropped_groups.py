"""How loud it is told that gradients were cleared before a step used them."""

from __future__ import annotations

from tracing_kit import run_traced

START = "import torch\nw = torch.nn.Parameter(torch.zeros(1))\nopt = torch.optim.SGD([w], lr=0.1)\n"


def severities(text: str) -> list[str]:
    trace = run_traced(START + text).trace
    return [found.severity for found in trace.findings if found.code == "LM503"]


def test_the_rest_of_full_groups_is_information_at_either_end_of_an_epoch() -> None:
    loop = "    for i in range(5):\n        (w - 1).pow(2).sum().backward()\n"
    loop += "        if i % 2 == 1:\n            opt.step()\n            opt.zero_grad()\n"
    clear = "    opt.zero_grad()\n"
    assert severities("for ep in range(2):\n" + clear + loop) == ["info"]
    assert severities("for ep in range(2):\n" + loop + clear) == ["info"]


def test_full_groups_and_single_passes_that_are_lost_stay_a_warning() -> None:
    counter = "n = 0\nfor ep in range(8):\n    opt.zero_grad()\n    for i in range(3):\n"
    counter += "        (w - 1).pow(2).sum().backward()\n        n += 1\n"
    counter += "        if n % 8 == 0:\n            opt.step()\n"
    assert severities(counter) == ["warning"]
    every = "for i in range(4):\n    opt.zero_grad()\n    (w - 1).pow(2).sum().backward()\n"
    assert severities(every + "    if i == 3:\n        opt.step()\n") == ["warning"]

"""What grows with each run of a cell is told of at the third, where it stands."""

from __future__ import annotations

import pytest
from tracing_kit import Ran, run_plain, run_traced

SETUP = """
net, x, w = torch.nn.RNNCell(2, 2), torch.ones(1, 2), torch.ones(2, requires_grad=True)
h, acc, total, hist, logs = torch.zeros(1, 2), torch.zeros(2), 0., [], {}
opt = torch.optim.SGD([w], lr=.1)
"""
STEP = "opt.zero_grad()\nloss = (w ** 2).sum()\nloss.backward()\nopt.step()\n"


def runs(cell: str, times: int) -> list[Ran]:
    ns, found = run_plain(SETUP).ns, []
    for _ in range(times):
        found.append(run_traced(cell, ns))
        ns = found[-1].ns
    return found


def told(ran: Ran) -> list[tuple[str, str | None, int | None, str]]:
    assert ran.error is None
    return [(f.code, f.variable, f.line, f.fix) for f in ran.trace.findings if f.code == "LM606"]


@pytest.mark.parametrize(
    ("cell", "variable", "line", "fix"),
    [
        (STEP + "total += loss", "total", 5, "total += loss.item()"),
        (STEP + "total = total + loss", "total", 5, "total = total + loss.item()"),
        (STEP + "hist.append(loss)", "hist", 5, "hist.append(loss.item())"),
        ("acc = acc + w * 2", "acc", 1, "acc = acc + (w * 2).detach()"),
        ("h = net(x, h)", "h", 1, "h = net(x, h.detach())"),
        ("h = torch.tanh(net(x, h)) * 2", "h", 1, "h = torch.tanh(net(x, h.detach())) * 2"),
        ("for _ in range(2):\n    h = net(x, h)", "h", 2, "h = net(x, h.detach())"),
    ],
)
def test_at_the_third_run(cell: str, variable: str, line: int, fix: str) -> None:
    first, second, third, fourth = map(told, runs(cell, 4))
    assert not first
    assert not second
    for ((code, name, at, text),) in (third, fourth):
        assert (code, name, at) == ("LM606", variable, line)
        assert text.partition("  #")[0] == fix


@pytest.mark.parametrize(
    "cell",
    [
        STEP + "total += loss.item()",
        STEP + "hist.append(loss.detach())",
        STEP + "hist = [loss]",
        STEP + "last = loss * 2",
        STEP + "total = total + loss\ntotal = total.detach()",
        "h = net(x, h.detach())",
        "h = net(x, h).detach()",
        "with torch.no_grad():\n    h = net(x, h)\n    acc = acc + w",
        "hist.append(w * 2)\nif len(hist) == 2:\n    hist.clear()",
        "g = w\nfor _ in range(3):\n    g = torch.sin(g + w)",
    ],
)
def test_what_does_not_grow_is_quiet(cell: str) -> None:
    assert not [one for ran in runs(cell, 5) for one in told(ran)]


def test_another_cell_in_between_that_cuts_it_is_known() -> None:
    ns = run_plain(SETUP).ns
    for _ in range(5):
        ran = run_traced("h = net(x, h)", ns)
        assert not told(ran)
        ns = run_traced("h = h.detach()", ran.ns).ns

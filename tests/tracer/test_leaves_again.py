"""Names that become leaves again are no mistake; computed tensors in an optimizer are."""

from __future__ import annotations

import pytest
from tracing_kit import run_traced

MENDED = {
    "an attribute, on the next line": """
class Store: pass
s = Store()
s.w = torch.ones(3, requires_grad=True)
for _ in range(3):
    (s.w ** 2).sum().backward()
    s.w = s.w - 0.1 * s.w.grad
    s.w = s.w.detach().requires_grad_()
""",
    "in a function, in the next round": """
def train(w):
    for _ in range(3):
        w = w.detach().requires_grad_()
        (w ** 2).sum().backward()
        w = w - 0.1 * w.grad
    return w
r = train(torch.ones(3))
""",
}
REFUSED = {
    "in a named list": (
        "w = torch.ones(3, requires_grad=True) * 0.1\nparams = [w]\ntorch.optim.Adam(params)",
        ("w", 1),
    ),
    "computed from a named leaf": (
        "x = torch.ones(3, requires_grad=True)\ny = x.exp()\ntorch.optim.SGD([y], 0.1)",
        ("y", 2),
    ),
}


@pytest.mark.parametrize("cell", MENDED)
def test_a_leaf_again_is_quiet(cell: str) -> None:
    ran = run_traced(MENDED[cell])
    assert ran.error is None
    assert [f.explanation() for f in ran.trace.findings if f.severity != "info"] == []


@pytest.mark.parametrize("cell", REFUSED)
def test_what_an_optimizer_refuses_is_named(cell: str) -> None:
    text, (variable, line) = REFUSED[cell]
    ran = run_traced(text)
    (found,) = ran.trace.findings
    assert (found.code, found.variable, found.line) == ("LM102", variable, line)
    assert ran.error is not None
    assert any("LM102" in note for note in ran.error.__notes__)
    lines = text.split("\n")
    lines.insert(line, found.fix)
    again = run_traced("\n".join(lines))
    assert again.error is None
    assert again.ns[variable].is_leaf


SHARED = {
    "with others on its line": (
        "w = torch.ones(3, requires_grad=True); w += 1; z = w * 2",
        "w = torch.ones(3, requires_grad=True)\nwith torch.no_grad():\n    w += 1\nz = w * 2",
    ),
    "behind the head of a function": (
        "def upd(p): p -= 1\nw = torch.ones(3, requires_grad=True)\nupd(w)",
        "def upd(p):\n    with torch.no_grad():\n        p -= 1",
    ),
    "behind a loop's": (
        "w = torch.ones(3, requires_grad=True)\nfor p in [w]: p.mul_(2)",
        "for p in [w]:\n    with torch.no_grad():\n        p.mul_(2)",
    ),
}


@pytest.mark.parametrize("cell", SHARED)
def test_the_fix_of_a_write_is_all_that_its_line_becomes(cell: str) -> None:
    text, fix = SHARED[cell]
    (found,) = run_traced(text).trace.findings
    assert found.fix == fix
    lines = text.split("\n")
    assert found.line is not None
    lines[found.line - 1 : found.line] = fix.split("\n")
    mended = run_traced("\n".join(lines))
    assert mended.error is None
    assert mended.trace.findings == ()

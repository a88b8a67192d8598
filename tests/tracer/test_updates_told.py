"""What is said of an update that loses the leaf: once, by the right name, with a fix to paste."""

from __future__ import annotations

import textwrap

import pytest
from tracing_kit import run_traced

W = "w = torch.ones(3, requires_grad=True)\n"
STEP = "for _ in range(2):\n    (w ** 2).sum().backward()\n    w = step(w)"

FOUND = {
    "once, though it is read and an error comes of it": (
        W + "(w ** 2).sum().backward()\nw = w.sub(0.1 * w.grad); w.grad.zero_()",
        ("LM103", "w", 3, 1),
    ),
    "as often as it happened": (
        "for _ in range(3):\n    w = torch.ones(3, requires_grad=True)\n"
        "    (w ** 2).sum().backward()\n    w = w - 0.1 * w.grad\n    print(w.grad)",
        ("LM103", "w", 4, 3),
    ),
    "of two weights in one statement": (
        W + "v = w\nb = torch.ones(3, requires_grad=True)\n(w ** 2 * b).sum().backward()\n"
        "w, b = w - 0.1 * w.grad, b - 0.1 * b.grad\nassert w is v",
        ("LM103", "w", 5, 1),
    ),
    "in a helper that returns it": (
        "def step(p):\n    return p - 0.1 * p.grad\n" + W + STEP,
        ("LM103", "p", 2, 1),
    ),
    "in a helper with another name for it": (
        "def step(w, lr=0.1):\n    new = w - lr * w.grad\n    return new\n" + W + STEP,
        ("LM103", "w", 2, 1),
    ),
    "in a helper under no_grad": (
        "def step(w, lr=0.1):\n    with torch.no_grad():\n        w = w - lr * w.grad\n"
        "    return w\n" + W + STEP,
        ("LM103", "w", 3, 1),
    ),
    "by autograd.grad, on the line of the mode": (
        W + "for _ in range(2):\n    (g,) = torch.autograd.grad((w ** 2).sum(), [w])\n"
        "    with torch.no_grad(): w = w - 0.1 * g",
        ("LM103", "w", 4, 1),
    ),
    "of the values without history": (
        W + "for _ in range(2):\n    (w ** 2).sum().backward()\n    w = w.data - 0.1 * w.grad",
        ("LM103", "w", 4, 1),
    ),
    "of an attribute, by autograd.grad": (
        "class Store: pass\ns = Store()\ns.w = torch.ones(3, requires_grad=True)\n"
        "for _ in range(2):\n    g = torch.autograd.grad((s.w ** 2).sum(), s.w)[0]\n"
        "    with torch.no_grad():\n        s.w = s.w - 0.1 * g",
        ("LM103", "s.w", 7, 1),
    ),
    "of a name that was a second one, when its gradient is wanted": (
        W + "best = w\n(w ** 2).sum().backward()\nbest = best - 0.1 * w.grad\n"
        "(best ** 2).sum().backward()\nassert best.grad is not None or print(best.grad)\n"
        "assert w.tolist() == [1] * 3",
        ("LM103", "best", 4, 1),
    ),
    "of a name that was a second one, in a loop": (
        W + "v = w\nfor _ in range(2):\n    (v ** 2).sum().backward()\n    v = v - 0.1 * v.grad\n"
        "assert w.tolist() == [1] * 3",
        ("LM103", "v", 5, 1),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_an_update_is_told_once_and_the_fix_works_where_it_is_pasted(name: str) -> None:
    text, expected = FOUND[name]
    ran = run_traced(text)
    told = [(f.code, f.variable, f.line, f.count) for f in ran.trace.findings]
    assert expected in told
    # In one statement another weight may be told of, too; no other kind is.
    assert {(code, line) for code, _, line, _ in told} == {("LM103", expected[2])}
    (fix,) = {f.fix for f in ran.trace.findings}
    lines = text.split("\n")
    line = lines[expected[2] - 1]
    pad = line[: len(line) - len(line.lstrip())]
    lines[expected[2] - 1] = textwrap.indent(fix, pad)
    again = run_traced("\n".join(lines))
    assert again.error is None, fix
    assert [f.explanation() for f in again.trace.findings if f.code != "LM501"] == []


QUIET = {
    "a second name moves on": W + "best = w\n(w ** 2).sum().backward()\nbest = best - 0.1 * w.grad",
    "a second name moves on under no_grad": W
    + "best = w\n(w ** 2).sum().backward()\nwith torch.no_grad():\n    best = best - 0.1 * w.grad",
    "a second name moves on by its own gradient": W
    + "v = w\n(v ** 2).sum().backward()\nv = v - 0.1 * v.grad",
    "a second name moves on by a gradient with a name": W
    + "best = w\n(w ** 2).sum().backward()\ng = w.grad\nbest = best - 0.1 * g",
}


@pytest.mark.parametrize("name", QUIET)
def test_a_leaf_that_keeps_its_own_name_is_not_lost(name: str) -> None:
    ran = run_traced(QUIET[name])
    assert ran.error is None
    assert [f.explanation() for f in ran.trace.findings] == []


def test_the_first_name_is_the_one_that_is_lost() -> None:
    text = W + "first = w\n(w ** 2).sum().backward()\nw = w - 0.1 * first.grad"
    (found,) = run_traced(text).trace.findings
    assert (found.code, found.variable, found.line) == ("LM103", "w", 4)

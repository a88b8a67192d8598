"""A gradient that is read where there is none: the fix gives what was wanted."""

from __future__ import annotations

import pytest
from tracing_kit import run_traced

W = "w = torch.ones(3, 2, requires_grad=True)\n"
DONE = W + "(w * torch.arange(6.).view(3, 2)).sum().backward()\n"
CHAIN = W + "hs = [w * 2]\nhs.append(hs[-1] * 3)\n"

MENDED = {
    "a piece": (DONE + "got = w[1].grad", "w.grad[1]", "got.tolist() == [2, 3]"),
    "a column": (DONE + "got = w[:, 1:].grad", "w.grad[:, 1:]", "got.shape == (3, 1)"),
    "transposed": (DONE + "got = w.T.grad", "w.grad.T", "got.shape == (2, 3)"),
    "a view of a piece": (
        DONE + "got = w[1:].view(-1).grad",
        "w.grad[1:].view(-1)",
        "got.tolist() == [2, 3, 4, 5]",
    ),
    "another dtype": (DONE + "got = w.double().grad", "w.grad.double()", "got.sum() == 15"),
    "of an item": (
        "p = {'w': torch.ones(3, requires_grad=True)}\n(p['w'] * 2).sum().backward()\n"
        "got = p['w'][0].grad",
        "p['w'].grad[0]",
        "got == 2",
    ),
    "a piece of a computed tensor": (
        W + "h = w * 2\nh.sum().backward()\ngot = h[0].grad",
        "h.retain_grad()  # before backward, after line 2; then read h.grad[0]",
        "got.tolist() == [1, 1]",
    ),
    "a piece with a name, which the loss does not use": (
        W + "row = w[0]\n(w * 2).sum().backward()\ngot = row.grad",
        "w.grad[0]",
        "got.tolist() == [2, 2]",
    ),
    "elements without names, in a loop": (
        CHAIN + "hs[-1].sum().backward()\ngot = []\nfor h in hs: got.append(h.grad)",
        "for h in hs: h.retain_grad()  # before backward, in line 4",
        "[g.sum() for g in got] == [18, 6]",
    ),
    "elements without names, in a comprehension": (
        CHAIN + "hs[-1].sum().backward()\ngot = [h.grad for i, h in enumerate(hs)]",
        "for i, h in enumerate(hs): h.retain_grad()  # before backward, in line 4",
        "[g.sum() for g in got] == [18, 6]",
    ),
    "elements without names, in a function": (
        "def run(w):\n    hs = [w * i for i in (1, 2)]\n    (hs[0] * hs[1]).sum().backward()\n"
        "    got = []\n    for h in hs: got.append(h.grad)\n    return got\n"
        "got = run(torch.ones(3, requires_grad=True))",
        "for h in hs: h.retain_grad()  # before backward, in line 3",
        "[g.tolist() for g in got] == [[2] * 3, [1] * 3]",
    ),
    "elements that go backward one by one": (
        W + "def made():\n    yield w * 2\ngot = []\nfor h in made():\n    h.sum().backward()\n"
        "    got.append(h.grad)",
        "h.retain_grad()  # before backward, in line 6",
        "got[0].sum() == 6",
    ),
    "what a module keeps": (
        "class Layer(torch.nn.Module):\n    def forward(self, x):\n        self.out = x * 2\n"
        "        return self.out\nnet = torch.nn.Sequential(Layer(), Layer())\n"
        "net(torch.ones(2, requires_grad=True)).sum().backward()\n"
        "got = []\nfor layer in net: got.append(layer.out.grad)",
        "self.out.retain_grad()  # before backward, after line 3",
        "[g.tolist() for g in got] == [[2, 2], [1, 1]]",
    ),
}


@pytest.mark.parametrize("name", MENDED)
def test_the_mended_cell_reads_what_was_wanted(name: str) -> None:
    text, fix, check = MENDED[name]
    ran = run_traced(text)
    found = ran.trace.findings
    assert {(f.code, f.fix) for f in found} == {("LM101", fix)}
    again = run_traced(ran.trace.fixed_source())
    assert again.error is None
    assert eval(check, again.ns)
    assert [f.explanation() for f in again.trace.findings] == []


def test_a_loop_says_which_of_its_tensors_are_computed() -> None:
    text = W + "h1 = w * 2\nh2 = h1 * 2\nh2.sum().backward()\nfor h in [w, h1, h2]: print(h.grad)"
    first, second = run_traced(text).trace.findings
    assert (first.variable, first.line) == ("h1", 2)
    assert first.message.startswith("`h1`, `h` in line 5, is computed, not a leaf")
    assert "leaves behind it: `w`." in first.message
    assert (second.variable, second.line) == ("h2", 3)
    assert second.fix == "h2.retain_grad()  # before backward, after line 3"


IN_WORDS = {
    "rows that a loop makes": (
        DONE + "for row in w: print(row.grad)",
        "loop over w.grad: its rows are the gradients",
    ),
    "what no loss was computed from": (
        W + "h = w * 2\n(w * 3).sum().backward()\nprint(h.grad)",
        "compute the loss from `h`, and retain its gradient",
    ),
}


@pytest.mark.parametrize("name", IN_WORDS)
def test_retaining_is_not_the_advice_where_it_does_not_help(name: str) -> None:
    text, fix = IN_WORDS[name]
    (found,) = run_traced(text).trace.findings
    assert (found.code, found.fix, found.edits) == ("LM101", fix, ())


X = "x = torch.ones(3, requires_grad=True)\n"
WHERE = {
    "over two lines": ("h = (x\n     * 2)\nh.sum().backward()", "h.retain_grad()  # before backward, after line 3"),
    "over four lines": (
        "h = torch.add(\n    x,\n    2,\n)\nh.sum().backward()",
        "h.retain_grad()  # before backward, after line 5",
    ),
    "in a function": (
        "def f(x):\n    h = (\n        x * 2\n    )\n    h.sum().backward()\n    return h\nh = f(x)",
        "h.retain_grad()  # before backward, after line 5",
    ),
    "before backward on a line": (
        "h = x * 2; h.sum().backward()",
        "h = x * 2; h.retain_grad(); h.sum().backward()",
    ),
    "after another statement on a line": (
        "n = 2; h = x * n\nh.sum().backward()",
        "h.retain_grad()  # before backward, after line 2",
    ),
    "behind the head of a block": (
        "if True: h = x * 2; h.sum().backward()",
        "if True: h = x * 2; h.retain_grad(); h.sum().backward()",
    ),
    "named on the way to backward": (
        "(h := x * 2).sum().backward()",
        "h = x * 2\nh.retain_grad()\nh.sum().backward()",
    ),
    "named on the way, on a shared line": (
        "n = 2; (h := x * n).sum().backward()",
        "n = 2\nh = x * n\nh.retain_grad()\nh.sum().backward()",
    ),
    "named on the way to a loss": (
        "loss = (h := x * 2).sum()\nloss.backward()",
        "h.retain_grad()  # before backward, after line 2",
    ),
    "named deep inside": (
        "print(torch.sum(h := x * 2).backward())",
        "bind `h` above line 2, and call h.retain_grad() there",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHERE)
def test_the_gradient_is_retained_between_making_and_backward(name: str) -> None:
    body, fix = WHERE[name]
    ran = run_traced(f"{X}{body}\ngot = h.grad")
    (found,) = ran.trace.findings
    assert (found.code, found.variable, found.fix) == ("LM101", "h", fix)
    if fix.startswith("bind"):
        assert found.edits == ()
        return
    again = run_traced(ran.trace.fixed_source())
    assert again.error is None
    assert again.ns["got"] is not None
    assert again.found == set()

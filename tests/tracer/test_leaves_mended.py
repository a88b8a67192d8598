"""Fixes of writes to leaves and of rebound ones, applied: the weights get their gradient."""

from __future__ import annotations

import pytest
from test_rules_mend import mended
from tracing_kit import run_traced

WRITES = {
    "a sum in a loop": (
        """
w = torch.ones(3, requires_grad=True)
loss = torch.zeros(1, requires_grad=True)
for i in range(3):
    loss += (w * i).sum()
loss.backward()
""",
        "assert w.grad.tolist() == [3, 3, 3]",
    ),
    "results put into a tensor": (
        """
w = torch.ones(3, requires_grad=True)
out = torch.zeros(3, requires_grad=True)
for i in range(3):
    out[i] = w[i] * i
out.sum().backward()
""",
        "assert w.grad.tolist() == [0, 1, 2]",
    ),
    "a flag set on a line of its own": (
        """
w = torch.ones(3, requires_grad=True)
out = torch.zeros(3)
out.requires_grad = True
out[0] = w[0] * 2
out.sum().backward()
""",
        "assert w.grad.tolist() == [2, 0, 0]",
    ),
    "an average of a weight": (
        """
w = torch.ones(3, requires_grad=True)
slow = w.detach().clone().requires_grad_()
slow += 0.5 * (w * 3 - slow)
""",
        "assert slow.is_leaf and slow.tolist() == [2, 2, 2]",
    ),
    "decay and gradient": (
        """
w = torch.ones(3, requires_grad=True)
(w ** 2).sum().backward()
w -= .5 * (w.grad + .5 * w)
""",
        "assert w.is_leaf and w.tolist() == [-.25] * 3",
    ),
    "a leaf that is a view": (
        """
w = torch.ones(6).view(2, 3).requires_grad_()
w.sum().backward()
w.add_(-.5 * w.grad)
""",
        "assert w.is_leaf and w.tolist() == [[.5] * 3] * 2",
    ),
    "a leaf of one number in many places": (
        """
w = torch.ones(1).expand(3).requires_grad_()
w += 1
""",
        "assert w.is_leaf and w.tolist() == [2, 2, 2]",
    ),
    "writes that share a line": (
        """
x = torch.zeros(2, 2, requires_grad=True)
y = 1; x[0, 0] = 1; x[1, 1] = y; z = x * 2
""",
        "assert x.is_leaf and x.tolist() == [[1, 0], [0, 1]] and z.requires_grad",
    ),
    "writes on lines one below the other": (
        """
x = torch.zeros(2, 2, requires_grad=True)
for i in range(2):
    x[i, 0] = 1
    # The second one.
    x.add_(2)
z = x * 2
""",
        "assert x.is_leaf and x.tolist() == [[5, 4], [3, 4]] and z.requires_grad",
    ),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_mended_write(name: str) -> None:
    text, right = WRITES[name]
    _, ran = mended("import torch\n" + text.lstrip())
    assert ran.error is None
    assert ran.trace.findings == ()
    exec(right, ran.ns)


def test_what_is_computed_from_a_weight_stays_out_of_the_block() -> None:
    fixed, _ = mended(
        "import torch\n"
        "w = torch.ones(3, requires_grad=True)\n"
        "x = torch.zeros(3, requires_grad=True)\n"
        "x[0] = 1\n"
        "x[1] = w[0] * 2\n"
    )
    assert "    x[0] = 1\nx[1] = w[0] * 2" in fixed


def test_torchs_refusal_of_a_view_that_is_a_leaf_is_explained() -> None:
    cell = "import torch\nw = torch.ones(6).view(2, 3).requires_grad_()\nw[0].add_(1)\n"
    ran = run_traced(cell)
    assert "view of a leaf" in str(ran.error)
    (note,) = ran.error.__notes__
    assert "LM201" in note
    assert "with torch.no_grad(): w[0].add_(1)" in note


FORWARD = {
    "the result of a net": "net = torch.nn.Linear(3, 3)\nx = net(x)\nx.sum().backward()\n",
    "a standardised input": "x = (x - x.mean(0)) / x.std(0)\nx.pow(2).sum().backward()\n",
    "a sum": "x = (x ** 2).sum()\nx.backward()\n",
    "a product": "x = x @ torch.ones(3, 3)\nx.sum().backward()\n",
    "a selection": "x = x[x > 0]\nx.sum().backward()\n",
    "a longer one": "x = torch.cat([x, torch.ones(2, 3)])\nx.sum().backward()\n",
    "two steps": "x = x * 2\nx = x.relu()\nx.sum().backward()\n",
    "layers in a loop": "for i in range(3):\n    x = torch.relu(x * i)\nx.sum().backward()\n",
    "under a condition": "if len(x) == 4:\n    x = x * 2\nx.sum().backward()\n",
    "for a function that reads it": "x = x * 2\nf = lambda: x.sum()\nf().backward()\n",
}


@pytest.mark.parametrize("name", FORWARD)
def test_a_computation_never_writes_to_its_input(name: str) -> None:
    head = "import torch\nx = torch.rand(4, 3, requires_grad=True)\n"
    fixed, ran = mended(head + FORWARD[name] + "got = x.grad\n")
    assert "no_grad" not in fixed
    assert ran.error is None
    assert ran.trace.findings == ()
    assert ran.ns["got"].shape == (4, 3)


UPDATES = {
    "a list, once": "ps = [p - .5 * p.grad for p in ps]",
    "a list, over several lines": "ps = [\n    p - .5 * p.grad\n    for p in ps\n]",
    "a list, under no_grad": "with torch.no_grad():\n    ps = [p - .5 * p.grad for p in ps]",
    "a list, on a line with more": "a = 1; ps = [p - .5 * p.grad for p in ps]; b = 2",
    "elements": "for i, p in enumerate(ps):\n    ps[i] = p - .5 * p.grad",
    "elements by a name": "for i in range(2):\n    p = ps[i]\n    ps[i] = p.sub(.5 * p.grad)",
    "a helper": "def step(ps, lr):\n    return [p - lr * p.grad for p in ps]\nps = step(ps, .5)",
}


# What a helper gave once may have been meant to be new.
TIMES = [(name, n) for name in UPDATES for n in (1, 2) if name != "a helper" or n > 1]


@pytest.mark.parametrize(("name", "times"), TIMES)
def test_a_mended_update_of_a_list(name: str, times: int) -> None:
    text = "sum((p ** 2).sum() for p in ps).backward()\n" + UPDATES[name]
    if times > 1:
        text = f"for _ in range({times}):\n    " + text.replace("\n", "\n    ")
    made = "ps = [torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)]\n"
    _, ran = mended(f"import torch\n{made}with torch.no_grad():\n    ps[0] *= 2\n{text}\n")
    assert ran.error is None
    assert ran.trace.findings == ()
    assert all(p.is_leaf and p.requires_grad for p in ran.ns["ps"])
    # The gradient of a square is twice it: half of that leads to zero.
    assert [p.tolist() for p in ran.ns["ps"]] == [[0] * 3, [0] * 2]


ONCE = {
    "the data of a gradient": "w = w - .5 * w.grad.data",
    "a method": "w = w.sub(w.grad.data * .5)",
    "an array": "w = w - .5 * torch.from_numpy(w.grad.numpy())",
    "a name for it": "g = w.grad.data\nw = w - .5 * g",
}


@pytest.mark.parametrize("name", ONCE)
def test_a_mended_last_update(name: str) -> None:
    head = "import torch\nw = torch.ones(3, requires_grad=True)\n(w ** 2).sum().backward()\n"
    _, ran = mended(head + ONCE[name] + "\n")
    assert ran.error is None
    assert ran.trace.findings == ()
    assert ran.ns["w"].is_leaf
    assert ran.ns["w"].tolist() == [0, 0, 0]


LAMBDAS = {
    "init = lambda *s: torch.ones(*s, requires_grad=True) * 2\nw = init(2)": "init = lambda *s: ",
    "made = [lambda n: torch.ones(n).requires_grad_() + 1]\nw = made[0](2)": "made = [lambda n: ",
    "w = (lambda n: torch.ones(n, requires_grad=True) * 2)(2)": "w = (lambda n: ",
}


@pytest.mark.parametrize("made", LAMBDAS)
def test_the_code_of_a_lambda_is_pasted_whole(made: str) -> None:
    cell = f"import torch\n{made}\nw.sum().backward()\nw.grad\n"
    (found,) = run_traced(cell).trace.findings
    assert (found.kind, found.line) == ("hidden_leaf", 2)
    assert found.fix.startswith(LAMBDAS[made])
    lines = cell.splitlines()
    ran = run_traced("\n".join([lines[0], found.fix, *lines[2:]]))
    assert ran.error is None
    assert ran.trace.findings == ()
    assert ran.ns["w"].is_leaf
    assert ran.ns["w"].tolist() == [2, 2]

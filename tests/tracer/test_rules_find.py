"""Mistakes in other clothes: each must be found, at its line, under its name."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tracing_kit import run_traced

IMPORTS = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "__name__": "__main__"}

MISTAKES: dict[str, tuple[str, tuple[str, str, int], int | None]] = {
    # nonleaf_grad_read ----------------------------------------------------------------
    "read: of a module's output": (
        "net = nn.Linear(3, 2)\nout = net(torch.ones(1, 3))\nout.sum().backward()\nprint(out.grad)",
        ("nonleaf_grad_read", "out", 2), 4),
    "read: in a function": (
        "def f(w):\n    h = w.exp()\n    h.sum().backward()\n    return h.grad\nw = torch.ones(2, requires_grad=True)\ng = f(w)",
        ("nonleaf_grad_read", "h", 2), 4),
    "read: in a loop": (
        "w = torch.ones(2, requires_grad=True)\nfor i in range(4):\n    h = w * i\n    h.sum().backward()\n    print(h.grad)",
        ("nonleaf_grad_read", "h", 3), 5),
    "read: attribute of an object": (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(2, 2)\n    def forward(self, x):\n        self.h = self.l(x)\n        return self.h.relu()\nm = M()\nm(torch.ones(1, 2)).sum().backward()\ng = m.h.grad",
        ("nonleaf_grad_read", "m.h", 6), 10),
    "read: of the loss": (
        "w = torch.ones(2, requires_grad=True)\nloss = (w ** 2).sum()\nloss.backward()\nx = [loss.grad]",
        ("nonleaf_grad_read", "loss", 2), 4),
    "read: before backward": (
        "w = torch.ones(2, requires_grad=True)\nh = w * 2\nprint(h.grad)",
        ("nonleaf_grad_read", "h", 2), 3),
    "read: of an item": (
        "w = torch.ones(2, requires_grad=True)\nhs = [w * i for i in range(2)]\nsum(hs).sum().backward()\nprint(hs[1].grad)",
        ("nonleaf_grad_read", "hs[1]", 2), 4),
    "read: of a row": (
        "w = torch.ones(2, 2, requires_grad=True)\nw.sum().backward()\nprint(w[0].grad)",
        ("nonleaf_grad_read", "w[0]", 3), 3),
    "read: in a lambda": (
        "w = torch.ones(2, requires_grad=True)\nh = w * 2\nh.sum().backward()\nread = lambda: h.grad\nread()",
        ("nonleaf_grad_read", "h", 2), 4),
    "read: in an f-string": (
        "w = torch.ones(2, requires_grad=True)\nh = w * 2\nh.sum().backward()\ns = f'{h.grad}'",
        ("nonleaf_grad_read", "h", 2), 4),
    "read: after unpacking": (
        "w = torch.ones(4, requires_grad=True)\na, b = w.chunk(2)\n(a * b).sum().backward()\na.grad",
        ("nonleaf_grad_read", "a", 2), 4),
    # hidden_leaf ------------------------------------------------------------------------
    "hidden: view": (
        "x = torch.arange(6., requires_grad=True).view(2, 3)\nx.sum().backward()\nprint(x.grad)",
        ("hidden_leaf", "x", 1), 3),
    "hidden: to dtype": (
        "x = torch.ones(3, requires_grad=True).double()\nx.sum().backward()\nx.grad",
        ("hidden_leaf", "x", 1), 3),
    "hidden: arithmetic in the line": (
        "w = torch.randn(3, requires_grad=True) * 0.01\nw.sum().backward()\nw.grad",
        ("hidden_leaf", "w", 1), 3),
    "hidden: in a function": (
        "def make(n):\n    w = torch.randn(n, requires_grad=True) / n ** 0.5\n    return w\nw = make(3)\nw.sum().backward()\nw.grad",
        ("hidden_leaf", "w", 2), 6),
    "hidden: rebound by conversion": (
        "x = torch.ones(4, requires_grad=True)\nx = x.reshape(2, 2)\nx.sum().backward()\nx.grad",
        ("hidden_leaf", "x", 2), 4),
    "hidden: requires_grad_ in the chain": (
        "x = torch.ones(4).requires_grad_().view(2, 2)\nx.sum().backward()\nx.grad",
        ("hidden_leaf", "x", 1), 3),
    "hidden: Parameter times": (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.w = nn.Parameter(torch.randn(3)) * 0.1\n    def forward(self):\n        return self.w.sum()\nm = M()\nm().backward()\nm.w.grad",
        ("hidden_leaf", "m.w", 4), 9),
    "hidden: over lines": (
        "x = (\n    torch.arange(6., requires_grad=True)\n    .reshape(2, 3)\n)\nx.sum().backward()\nx.grad",
        ("hidden_leaf", "x", 2), 6),
    "hidden: optimizer refuses": (
        "w = torch.randn(3, requires_grad=True).mul(0.1)\nopt = torch.optim.SGD([w], lr=0.1)",
        ("hidden_leaf", "w", 1), 2),
    # leaf_rebound -----------------------------------------------------------------------
    "rebound: minus": (
        "w = torch.ones(2, requires_grad=True)\n(w ** 2).sum().backward()\nw = w - 0.1 * w.grad",
        ("leaf_rebound", "w", 3), None),
    "rebound: under no_grad": (
        "w = torch.ones(2, requires_grad=True)\n(w ** 2).sum().backward()\nwith torch.no_grad():\n    w = w - 0.1 * w.grad",
        ("leaf_rebound", "w", 4), None),
    "rebound: torch.sub": (
        "w = torch.ones(2, requires_grad=True)\n(w ** 2).sum().backward()\nw = torch.sub(w, w.grad, alpha=0.1)",
        ("leaf_rebound", "w", 3), None),
    "rebound: in a loop": (
        "w = torch.ones(2, requires_grad=True)\nfor i in range(1):\n    (w ** 2).sum().backward()\n    w = w - 0.1 * w.grad",
        ("leaf_rebound", "w", 4), None),
    "rebound: in a function": (
        "def train(w):\n    for _ in range(1):\n        (w ** 2).sum().backward()\n        with torch.no_grad():\n            w = w - 0.1 * w.grad\n    return w\ntrain(torch.ones(2, requires_grad=True))",
        ("leaf_rebound", "w", 5), None),
    "rebound: two weights": (
        "w, b = torch.ones(2, requires_grad=True), torch.zeros(1, requires_grad=True)\n(w.sum() + b).backward()\nwith torch.no_grad():\n    w, b = w - 0.1 * w.grad, b - 0.1 * b.grad",
        ("leaf_rebound", "b", 4), None),
    "rebound: then read": (
        "w = torch.ones(2, requires_grad=True)\nw = w * 2\nw.sum().backward()\nw.grad",
        ("leaf_rebound", "w", 2), 4),
    "rebound: gradient kept first": (
        "w = torch.ones(2, requires_grad=True)\n(w ** 2).sum().backward()\ng = w.grad\nstep = 0.1 * g\nw = w - step",
        ("leaf_rebound", "w", 5), None),
    "rebound: lerp": (
        "w = torch.ones(2, requires_grad=True)\n(w ** 2).sum().backward()\nwith torch.no_grad():\n    w = w.add(w.grad, alpha=-0.1)",
        ("leaf_rebound", "w", 4), None),
    "rebound: augmented torch add": (
        "w = torch.ones(2, requires_grad=True)\nl = (w ** 2).sum()\ng, = torch.autograd.grad(l, w)\nw = w - 0.1 * g\n(w ** 2).sum().backward()\nw.grad.norm()",
        ("leaf_rebound", "w", 4), None),
    "rebound: item of a dict": (
        "p = {'w': torch.ones(2, requires_grad=True)}\n(p['w'] ** 2).sum().backward()\np['w'] = p['w'] - 0.1 * p['w'].grad",
        ("leaf_rebound", "p['w']", 3), None),
    "rebound: item of a dict, read in the next step": (
        "p = {'w': torch.ones(2, requires_grad=True)}\nfor _ in range(2):\n    (p['w'] ** 2).sum().backward()\n    p['w'] = p['w'] - 0.1 * p['w'].grad",
        ("leaf_rebound", "p['w']", 4), 4),
    "rebound: item of a list": (
        "ws = [torch.ones(2, requires_grad=True)]\nfor _ in range(2):\n    (ws[0] ** 2).sum().backward()\n    with torch.no_grad():\n        ws[0] = ws[0] - 0.1 * ws[0].grad",
        ("leaf_rebound", "ws[0]", 5), None),
    "rebound: items one by one": (
        "ws = [torch.ones(2, requires_grad=True) for _ in range(2)]\nfor _ in range(2):\n    (ws[0] * ws[1]).sum().backward()\n    for i in range(2):\n        ws[i] = ws[i] - 0.1 * ws[i].grad",
        ("leaf_rebound", "ws[i]", 5), 5),
    "rebound: item that nothing fails for": (
        "p = {'w': torch.ones(2, requires_grad=True)}\nv = torch.ones(2, requires_grad=True)\nfor _ in range(3):\n    (p['w'] * v).sum().backward()\n    with torch.no_grad():\n        p['w'] = p['w'] - (0.1 * p['w'].grad if p['w'].grad is not None else 0)",
        ("leaf_rebound", "p['w']", 6), None),
    "rebound: item in a function": (
        "def step(p):\n    p['w'] = p['w'] - 0.1 * p['w'].grad\np = {'w': torch.ones(2, requires_grad=True)}\nfor _ in range(2):\n    (p['w'] ** 2).sum().backward()\n    step(p)",
        ("leaf_rebound", "p['w']", 2), 2),
    "rebound: item of a nested dict": (
        "p = {'a': {'w': torch.ones(2, requires_grad=True)}}\nfor _ in range(2):\n    (p['a']['w'] ** 2).sum().backward()\n    with torch.no_grad():\n        p['a']['w'] = p['a']['w'].sub(p['a']['w'].grad, alpha=0.1)",
        ("leaf_rebound", "p['a']['w']", 5), None),
    # leaf_inplace -----------------------------------------------------------------------
    "inplace: sub_": ("w = torch.ones(2, requires_grad=True)\nw.sub_(0.1)", ("leaf_inplace", "w", 2), 2),
    "inplace: item": ("w = torch.ones(2, requires_grad=True)\nw[0] = 0", ("leaf_inplace", "w", 2), 2),
    "inplace: slice": ("w = torch.ones(3, requires_grad=True)\nw[1:] *= 0", ("leaf_inplace", "w", 2), 2),
    "inplace: view": ("w = torch.ones(4, requires_grad=True)\nv = w.view(2, 2)\nv.add_(1)", ("leaf_inplace", "w", 3), 3),
    "inplace: out=": ("w = torch.ones(2, requires_grad=True)\nwith torch.enable_grad():\n    torch.clamp_(w, 0, 1)", ("leaf_inplace", "w", 3), 3),
    "inplace: parameter": ("net = nn.Linear(2, 2)\nnet.weight.fill_(0)", ("leaf_inplace", "net.weight", 2), 2),
    "inplace: in a loop over parameters": (
        "net = nn.Linear(2, 2)\nnet(torch.ones(1, 2)).sum().backward()\nfor p in net.parameters():\n    p -= 0.1 * p.grad",
        ("leaf_inplace", "p", 4), 4),
    "inplace: in a function": ("def reset(t):\n    t.zero_()\nw = torch.ones(2, requires_grad=True)\nreset(w)", ("leaf_inplace", "t", 2), 2),
    "inplace: functional": ("w = torch.ones(2, requires_grad=True)\nF.relu(w, inplace=True)", ("leaf_inplace", "w", 2), 2),
    "inplace: module": ("w = torch.ones(2, requires_grad=True)\nact = nn.ReLU(inplace=True)\nact(w)", ("leaf_inplace", "w", 3), 3),
    "inplace: index_fill_": ("w = torch.ones(3, requires_grad=True)\nw.index_fill_(0, torch.tensor([1]), 5.0)", ("leaf_inplace", "w", 2), 2),
    "inplace: mask": ("w = torch.ones(3, requires_grad=True)\nw[w > 0] = 2", ("leaf_inplace", "w", 2), 2),
    "inplace: augmented attribute": ("class A: pass\na = A()\na.w = torch.ones(3, requires_grad=True)\na.w += 1", ("leaf_inplace", "a.w", 4), 4),
    # retain_grad_misuse -----------------------------------------------------------------
    "retain: too late": (
        "w = torch.ones(2, requires_grad=True)\nh = w * 2\nh.sum().backward()\nh.retain_grad()\nprint(h.grad)",
        ("retain_grad_misuse", "h", 4), 5),
    "retain: too late in a function": (
        "def f(w):\n    h = w * 2\n    h.sum().backward()\n    h.retain_grad()\n    return h.grad\nf(torch.ones(2, requires_grad=True))",
        ("retain_grad_misuse", "h", 4), 5),
    "retain: no grad": ("x = torch.ones(2)\ny = x * 2\ny.retain_grad()", ("retain_grad_misuse", "y", 1), 3),
    "retain: detached": (
        "w = torch.ones(2, requires_grad=True)\ny = (w * 2).detach()\ny.retain_grad()",
        ("retain_grad_misuse", "y", 2), 3),
    "retain: under no_grad": (
        "w = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    y = w * 2\ny.retain_grad()",
        ("retain_grad_misuse", "y", 3), 4),
    "retain: in a loop, too late each time": (
        "w = torch.ones(2, requires_grad=True)\nfor _ in range(3):\n    h = w * 2\n    h.sum().backward()\n    h.retain_grad()\n    h.grad",
        ("retain_grad_misuse", "h", 5), 6),
    # requires_grad_flag -----------------------------------------------------------------
    "flag: called": ("a = torch.ones(2)\na.requires_grad(True)", ("requires_grad_flag", "a", 2), 2),
    "flag: is_leaf called": ("a = torch.ones(2)\nb = a.is_leaf()", ("requires_grad_flag", "a", 2), 2),
    "flag: integers": ("i = torch.arange(3)\ni.requires_grad_()", ("requires_grad_flag", "i", 1), 2),
    "flag: integers at once": ("i = torch.arange(3, requires_grad=True)", ("requires_grad_flag", "i", 1), 1),
    "flag: bool mask": ("m = torch.ones(3) > 0\nm.requires_grad = True", ("requires_grad_flag", "m", 1), 2),
    "flag: misspelt": ("w = torch.ones(2)\nw.require_grad = True", ("requires_grad_flag", "w", 2), 2),
    "flag: misspelt in a loop": (
        "net = nn.Linear(2, 2)\nfor p in net.parameters():\n    p.required_grad = False",
        ("requires_grad_flag", "p", 3), 3),
    "flag: on a module": ("net = nn.Linear(2, 2)\nnet.requires_grad = False", ("requires_grad_flag", "net", 2), 2),
    "flag: on a part": (
        "net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))\nnet[0].requires_grad = False",
        ("requires_grad_flag", "net[0]", 2), 2),
    "flag: misspelt in a function": (
        "def freeze(net):\n    for p in net.parameters():\n        p.requires_gradient = False\nnet = nn.Linear(2, 2)\nfreeze(net)",
        ("requires_grad_flag", "p", 3), 3),
    "flag: in a class": (
        "class M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(2, 2)\n        self.l.requires_grad = False\nm = M()",
        ("requires_grad_flag", "self.l", 5), 5),
    # saved_tensor_mutated ---------------------------------------------------------------
    "saved: sigmoid": (
        "x = torch.ones(2, requires_grad=True)\na = torch.sigmoid(x)\na.mul_(2)\na.sum().backward()",
        ("saved_tensor_mutated", "a", 3), 4),
    "saved: input of a product": (
        "x = torch.ones(2, requires_grad=True)\nk = x * 1\ny = k * k\nk += 1\ny.sum().backward()",
        ("saved_tensor_mutated", "k", 4), 5),
    "saved: constant operand": (
        "x = torch.ones(2, requires_grad=True)\nc = torch.ones(2)\ny = x * c\nc[0] = 5\ny.sum().backward()",
        ("saved_tensor_mutated", "c", 4), 5),
    "saved: through a view": (
        "x = torch.ones(2, 2, requires_grad=True)\na = x.exp()\nr = a[0]\nr.zero_()\na.sum().backward()",
        ("saved_tensor_mutated", "r", 4), 5),
    "saved: in a function": (
        "def f(x):\n    a = x.tanh()\n    a += 1\n    return a\nx = torch.ones(2, requires_grad=True)\nf(x).sum().backward()",
        ("saved_tensor_mutated", "a", 3), 6),
    "saved: in a loop": (
        "x = torch.ones(2, requires_grad=True)\nh = x * 1\nout = []\nfor i in range(3):\n    out.append(h * h)\n    h += 1\nsum(out).sum().backward()",
        ("saved_tensor_mutated", "h", 6), 7),
    "saved: relu inplace after exp": (
        "x = torch.ones(2, requires_grad=True)\na = x.exp()\nF.relu(a, inplace=True)\na.sum().backward()",
        ("saved_tensor_mutated", "a", 3), 4),
    "saved: optimizer step between": (
        "net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\nl = net(torch.ones(1, 2)).sum()\nl.backward(retain_graph=True)\nopt.step()\nl.backward()",
        ("saved_tensor_mutated", "l", 3), 6),
}  # fmt: skip


@pytest.fixture(scope="module")
def told() -> Any:
    """Run each cell once for all questions."""
    ran: dict[str, Any] = {}

    def run(case: str) -> Any:
        if case not in ran:
            ran[case] = run_traced(MISTAKES[case][0], dict(IMPORTS))
        return ran[case]

    return run


@pytest.mark.parametrize("case", MISTAKES)
def test_mistake_is_found(case: str, told: Any) -> None:
    _, expected, symptom = MISTAKES[case]
    ran = told(case)
    assert ran.notes == []
    assert expected in ran.found
    if symptom is not None:
        lines = {
            f.symptom_line
            for f in ran.trace.findings
            if f.kind == expected[0] and f.line == expected[2]
        }
        assert symptom in lines
    for found in ran.trace.findings:
        assert found.message
        assert found.cell == ran.trace.cell.label
        assert found.code.startswith("LM")


@pytest.mark.parametrize("case", MISTAKES)
def test_mistake_is_the_only_one_told(case: str, told: Any) -> None:
    """One mistake, one kind: others about the same would only confuse."""
    _, expected, _ = MISTAKES[case]
    ran = told(case)
    assert {f[0] for f in ran.found} <= {expected[0]}


@pytest.mark.parametrize("case", MISTAKES)
def test_error_carries_the_explanation(case: str, told: Any) -> None:
    _, expected, _ = MISTAKES[case]
    ran = told(case)
    if ran.error is None or expected[0] == "leaf_rebound":
        return
    notes = getattr(ran.error, "__notes__", [])
    assert len(notes) == 1
    assert notes[0].startswith("leafmagic LM")


FIXES = [
    "hidden: view", "hidden: to dtype", "hidden: arithmetic in the line", "hidden: rebound by conversion",
    "rebound: minus", "rebound: under no_grad", "rebound: torch.sub", "rebound: lerp",
    "rebound: item of a dict", "rebound: item of a dict, read in the next step", "rebound: item of a list",
    "rebound: items one by one", "rebound: item in a function", "rebound: item of a nested dict",
    "inplace: sub_", "inplace: item", "inplace: slice", "inplace: parameter", "inplace: mask",
    "flag: called", "flag: is_leaf called", "flag: integers", "flag: misspelt", "flag: on a module",
    "flag: integers at once", "flag: on a part", "saved: sigmoid", "saved: input of a product",
    "hidden: requires_grad_ in the chain", "hidden: optimizer refuses",
]  # fmt: skip


@pytest.mark.parametrize("case", FIXES)
def test_fix_works_when_pasted(case: str) -> None:
    """Put the fix where the causing line was: no error, nothing left to tell."""
    text, expected, _ = MISTAKES[case]
    ran = run_traced(text, dict(IMPORTS))
    (finding,) = [f for f in ran.trace.findings if (f.kind, f.variable, f.line) == expected][:1]
    lines = text.split("\n")
    old = lines[expected[2] - 1]
    indent = old[: len(old) - len(old.lstrip())]
    lines[expected[2] - 1] = indent + finding.fix
    again = run_traced("\n".join(lines), dict(IMPORTS))
    assert again.error is None, (finding.fix, again.error)
    assert again.found == set(), finding.fix


UPDATES_WITHOUT_GRAPH = {
    "a name": (
        "w = torch.ones(2, requires_grad=True)\nfor _ in range(2):\n    loss = (w ** 2).sum()\n    loss.backward()\n    with torch.no_grad():\n        w = w - 0.1 * w.grad",
        "w -= 0.1 * w.grad; w.grad = None"),
    "an attribute": (
        "class Box:\n    pass\nb = Box()\nb.w = torch.ones(2, requires_grad=True)\nfor _ in range(2):\n    (b.w ** 2).sum().backward()\n    with torch.no_grad():\n        b.w = b.w - 0.1 * b.w.grad",
        "b.w -= 0.1 * b.w.grad; b.w.grad = None"),
    "an item": (
        "ws = [torch.ones(2, requires_grad=True)]\nfor _ in range(2):\n    (ws[0] ** 2).sum().backward()\n    with torch.no_grad():\n        ws[0] = ws[0] - 0.1 * ws[0].grad",
        "ws[0] -= 0.1 * ws[0].grad; ws[0].grad = None"),
    "in a comprehension": (
        "ws = [torch.ones(2, requires_grad=True)]\nfor _ in range(2):\n    sum((w ** 2).sum() for w in ws).backward()\n    with torch.no_grad():\n        ws = [w - 0.1 * w.grad for w in ws]",
        "for w in ws:\n    w -= 0.1 * w.grad\n    w.grad = None"),
    "with more in the line": (
        "w = torch.ones(2, requires_grad=True)\nfor _ in range(2):\n    (w ** 2).sum().backward()\n    with torch.no_grad():\n        w = (w - 0.1 * w.grad).clamp(0, 1)",
        "w.copy_((w - 0.1 * w.grad).clamp(0, 1)); w.grad = None"),
    "read between": (
        "w = torch.ones(2, requires_grad=True)\nfor _ in range(2):\n    (w ** 2).sum().backward()\n    with torch.no_grad():\n        w = w - 0.1 * w.grad\n    print(w.grad)",
        "w -= 0.1 * w.grad  # and w.grad = None before line 3"),
}  # fmt: skip


@pytest.mark.parametrize("case", UPDATES_WITHOUT_GRAPH)
def test_a_pass_that_an_update_left_without_a_graph(case: str) -> None:
    """The lost leaf is told of, with the error; what grad mode did there is no mistake."""
    text, fix = UPDATES_WITHOUT_GRAPH[case]
    ran = run_traced(text, dict(IMPORTS))
    assert isinstance(ran.error, RuntimeError)
    (finding,) = ran.trace.findings
    assert (finding.code, finding.fix) == ("LM103", fix)
    (note,) = ran.error.__notes__
    assert note.startswith("leafmagic LM103")


def test_a_graph_kept_over_a_step_is_computed_anew_where_it_is_used() -> None:
    """Where there is no loop none is told of; where there is one the line belongs there."""
    start = (
        "net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))\n"
        "opt = torch.optim.SGD(net.parameters(), lr=0.1)\nl = net(torch.ones(1, 2)).sum()\n"
    )
    once = start + "l.backward(retain_graph=True)\nopt.step()\nl.backward()"
    loop = start + "for _ in range(2):\n    l.backward(retain_graph=True)\n    opt.step()"
    fixes = []
    for text in (once, loop):
        (finding,) = run_traced(text, dict(IMPORTS)).trace.findings
        assert finding.code == "LM203"
        fixes.append(finding.fix)
    assert fixes == [
        "compute `l` anew after line 5, and leave out retain_graph",
        "compute `l` anew in each step: move line 3 into the loop, and leave out retain_graph",
    ]


def test_what_is_computed_beside_a_leaf_is_no_update() -> None:
    ran = run_traced(
        "w = torch.ones(2, requires_grad=True)\n(w ** 2).sum().backward()\n"
        "with torch.no_grad():\n    new = w - 0.1 * w.grad\n(new ** 2).sum().backward()",
        dict(IMPORTS),
    )
    assert {f.code for f in ran.trace.findings} == {"LM402"}


# Over several cells -----------------------------------------------------------------------


def in_cells(*cells: str) -> list[Any]:
    ns = dict(IMPORTS)
    return [run_traced(cell, ns) for cell in cells]


def test_leaf_made_hidden_in_one_cell_read_in_another() -> None:
    _, second = in_cells(
        "x = torch.arange(6., requires_grad=True).reshape(2, 3)", "x.sum().backward()\nx.grad"
    )
    kinds = {(f.kind, f.variable, f.symptom_line) for f in second.trace.findings}
    assert ("hidden_leaf", "x", 2) in kinds


def test_nonleaf_made_in_one_cell_read_in_another() -> None:
    _, second = in_cells(
        "w = torch.ones(2, requires_grad=True)\nh = w.exp()", "h.sum().backward()\nh.grad"
    )
    kinds = {(f.kind, f.variable, f.symptom_line) for f in second.trace.findings}
    assert ("nonleaf_grad_read", "h", 2) in kinds


def test_update_in_another_cell() -> None:
    _, second = in_cells(
        "w = torch.ones(2, requires_grad=True)\n(w ** 2).sum().backward()", "w = w - 0.1 * w.grad"
    )
    assert ("leaf_rebound", "w", 1) in second.found


def test_leaf_of_another_cell_written() -> None:
    _, second = in_cells("w = torch.ones(2, requires_grad=True)", "w += 1")
    assert ("leaf_inplace", "w", 1) in second.found


def test_saved_tensor_of_another_cell() -> None:
    *_, last = in_cells(
        "x = torch.ones(2, requires_grad=True)\na = x.exp()", "a += 1\na.sum().backward()"
    )
    assert ("saved_tensor_mutated", "a", 1) in last.found


def test_retained_late_in_another_cell() -> None:
    *_, last = in_cells(
        "w = torch.ones(2, requires_grad=True)\nh = w * 2\nh.sum().backward()",
        "h.retain_grad()\nh.grad",
    )
    # That backward ran before is not known here; a mistake of another kind must not be claimed.
    assert {f[0] for f in last.found} <= {"retain_grad_misuse"}


def test_function_of_another_cell() -> None:
    _, second = in_cells(
        "def f(w):\n    h = w * 2\n    h.sum().backward()\n    return h.grad",
        "w = torch.ones(2, requires_grad=True)\nf(w)",
    )
    (finding,) = second.trace.findings
    assert (finding.kind, finding.variable, finding.line, finding.symptom_line) == (
        "nonleaf_grad_read", "h", 2, 4,
    )  # fmt: skip
    assert finding.cell != second.trace.cell.label
    assert finding.source == "h = w * 2"


def test_repeats_are_counted() -> None:
    ran = run_traced(
        "w = torch.ones(2, requires_grad=True)\nfor _ in range(7):\n    h = w * 2\n    h.sum().backward()\n    h.grad",
        dict(IMPORTS),
    )
    assert [(f.kind, f.count) for f in ran.trace.findings] == [("nonleaf_grad_read", 7)]

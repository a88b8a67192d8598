"""What careful readers found to be wrong, kept right."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tracing_kit import check_well, run_traced

import leafmagic

QUIET = {
    "made a leaf again by the next line": """
w = torch.randn(3, requires_grad=True)
for _ in range(3):
    (w ** 2).sum().backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
    w.requires_grad_(True)
""",
    "detached, then flagged": """
w = torch.randn(3, requires_grad=True)
for _ in range(2):
    (w ** 2).sum().backward()
    w = w.detach() - 0.1 * w.grad
    w.requires_grad = True
""",
    "projected gradient": """
x = torch.randn(3, requires_grad=True)
for _ in range(3):
    (x ** 2).sum().backward()
    x = (x + 0.1 * x.grad.sign()).detach()
    x.requires_grad_()
""",
    "a new leaf at the top of each round": """
x = torch.randn(3)
for _ in range(3):
    x = x.detach().requires_grad_()
    (x ** 2).sum().backward()
    x = x - 0.1 * x.grad
""",
    "an adversarial example": """
x = torch.randn(3, requires_grad=True)
(x ** 2).sum().backward()
x = x + 0.1 * x.grad.sign()
out = x.sum()
""",
    "detach_, then a write": """
w = torch.ones(3, requires_grad=True)
w.detach_()
w.mul_(3)
""",
    "retained after another backward": """
x = torch.ones(2, requires_grad=True)
(x * 2).sum().backward()
h = x * 3
h.retain_grad()
h.grad
h.sum().backward()
""",
    "looks whether it is there": """
x = torch.ones(2, requires_grad=True)
h = x * 3
a = h.grad == None
b = (g := h.grad) is not None
c = not h.grad
d = isinstance(h.grad, torch.Tensor)
if not h.grad and h.grad is None:
    pass
""",
}


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")
@pytest.mark.parametrize("name", QUIET)
def test_correct_code_is_not_accused(name: str) -> None:
    ran = run_traced("import torch\n" + QUIET[name])
    check_well(ran)
    assert [f for f in ran.trace.findings if f.severity != "info"] == []


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("h.requires_grad = False", "h = h.detach()"),
        ("h.requires_grad_(False)", "h = h.detach()"),
    ],
)
def test_a_flag_on_a_computed_tensor_is_explained(line: str, fix: str) -> None:
    ran = run_traced(f"import torch\nx = torch.ones(2, requires_grad=True)\nh = x * 2\n{line}")
    (finding,) = ran.trace.findings
    assert (finding.kind, finding.variable, finding.line, finding.fix) == (
        "requires_grad_flag", "h", 4, fix,
    )  # fmt: skip
    assert any("LM301" in note for note in ran.error.__notes__)


@pytest.mark.parametrize("cell", ["p.require_grad = True", "net.requires_grad = False"])
def test_a_stray_attribute_is_found_under_the_magic(shell: Any, cell: str) -> None:
    shell.extension_manager.load_extension("leafmagic")
    shell.run_cell("import torch\np = torch.ones(2)\nnet = torch.nn.Linear(2, 1)")
    shell.run_cell(f"%%autograd --mode off --into t\n{cell}")
    (finding,) = shell.user_ns["t"].findings
    assert (finding.kind, finding.line) == ("requires_grad_flag", 2)


@pytest.mark.parametrize(
    "body",
    [
        "def f(x):\n    h = x * 2\n    return h.sum()\nf(x).backward()",
        "class M(torch.nn.Module):\n    def forward(self, x):\n        h = x * 2\n        return h.sum()\nM()(x).backward()",
    ],
)
def test_a_retained_local_shows_its_gradient(body: str) -> None:
    cell = f"import torch\nx = torch.ones(4, requires_grad=True)\n{body}"
    ran = run_traced(cell, retain=("h",))
    check_well(ran)
    node = next(n for n in ran.trace.graph.nodes if n.kind == "tensor" and n.op == "mul")
    assert (node.state, node.name, node.grad_norm) == ("retained", "h", 2.0)


def test_no_box_for_what_a_module_makes_for_itself() -> None:
    ran = run_traced("""import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = torch.nn.Linear(2, 3)
    def forward(self, x):
        return self.fc1(x)
net = Net()
net(torch.ones(1, 2)).sum().backward()""")
    names = {n.name for n in ran.trace.graph.nodes if n.kind == "tensor"}
    assert "self.fc1" not in names
    assert {"net.fc1.weight", "net.fc1.bias"} <= names


def test_the_leaf_of_a_returned_expression_is_mended_in_place() -> None:
    ran = run_traced("""import torch
def make():
    return torch.randn(3, requires_grad=True).reshape(3, 1)
w = make()
w.sum().backward()
w.grad""")
    (finding,) = ran.trace.findings
    assert finding.fix == "return torch.randn(3).reshape(3, 1).requires_grad_()"


def test_a_guard_is_python_where_the_statement_is_one_of_several() -> None:
    ran = run_traced("""import torch
w = torch.ones(2, requires_grad=True)
try: w.add_(1)
except RuntimeError: pass""")
    (finding,) = ran.trace.findings
    assert finding.fix == "with torch.no_grad(): w.add_(1)"


def test_an_unrelated_error_gets_no_note() -> None:
    ran = run_traced("""import torch
x = torch.ones(2, requires_grad=True)
q = x * 3
q.grad
1 / 0""")
    assert getattr(ran.error, "__notes__", []) == []
    assert [f.kind for f in ran.trace.findings] == ["nonleaf_grad_read"]


def test_why_can_be_asked_twice() -> None:
    y = torch.ones(2, requires_grad=True) * 2
    assert leafmagic.why(y) == leafmagic.why(y)
    assert "retain_grad()" in leafmagic.why(y, name="y")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: torch.ones(2), "does not require grad"),
        (lambda: torch.ones(2, dtype=torch.int64), "is int64"),
        (lambda: torch.ones(2, requires_grad=True), "nothing was traced that tells"),
        (lambda: torch.ones(2, requires_grad=True) * 2, "is not a leaf"),
    ],
)
def test_why_in_a_word(make: Any, said: str) -> None:
    assert said in leafmagic.why(
        make(), trace=leafmagic.Trace({"nodes": [], "edges": [], "findings": []})
    )


def test_a_deep_net_does_not_cost_the_square_of_its_layers() -> None:
    """Counted, not timed: how often parameters are looked up while the first step is new."""
    from leafmagic import owners

    looked = []
    original = owners._of_module

    def counting(*args: Any) -> Any:
        looked.append(args)
        return original(*args)

    owners._of_module = counting  # type: ignore[assignment]
    try:
        run_traced(
            "import torch\nnet = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(40)])\n"
            "net(torch.ones(1, 4)).sum().backward()"
        )
    finally:
        owners._of_module = original
    assert len(looked) <= 10


HELPED = "w = torch.ones(2, requires_grad=True)\nh = w * 2\nh.sum().backward()\n"


@pytest.mark.parametrize(
    ("body", "told", "fix"),
    [
        (f"def g(t): return t.grad\n{HELPED}g(h)", ("h", 4, 2, 1), "h.retain_grad()  # before backward, after line 4"),
        (f"def g(t): return t.grad\n{HELPED}g(h)\nh.grad", ("h", 4, 7, 2), "h.retain_grad()  # before backward, after line 4"),
        (f"{HELPED}(lambda t: t.grad)(h)", ("h", 3, 5, 1), "h.retain_grad()  # before backward, after line 3"),
        (f"{HELPED}read = lambda t: t.grad\nread(h)\nread(h)", ("h", 3, 5, 2), "h.retain_grad()  # before backward, after line 3"),
        ("def make(w):\n    r = w * 2\n    return r\ndef g(t):\n    return t.grad\nw = torch.ones(2, requires_grad=True)\nout = make(w)\nout.sum().backward()\ng(out)",
         ("out", 3, 6, 1), "out.retain_grad()  # before backward, after line 8"),
        ("def g(t):\n    return t.grad\ndef main():\n    w = torch.ones(2, requires_grad=True)\n    h = w * 2\n    h.sum().backward()\n    return g(h)\nmain()",
         ("h", 6, 3, 1), "h.retain_grad()  # before backward, after line 6"),
        ("def g(t):\n    return t.grad\nw = torch.ones(2, requires_grad=True)\ng(w * 2)",
         ("t", 5, 3, 1), "t.retain_grad()  # before backward, on what line 3 calls `t`"),
        ("class M(torch.nn.Module):\n    def forward(self, x):\n        self.h = x * 2\n        return self.h.sum()\nm = M()\nm(torch.ones(2, requires_grad=True)).backward()\nm.h.grad",
         ("m.h", 4, 8, 1), "self.h.retain_grad()  # before backward, after line 4"),
    ],
)  # fmt: skip
def test_a_gradient_read_by_a_helper_is_told_once_with_a_name_that_exists(
    body: str, told: tuple[Any, ...], fix: str
) -> None:
    ran = run_traced(f"import torch\n{body}")
    check_well(ran)
    (finding,) = ran.trace.findings
    assert finding.kind == "nonleaf_grad_read"
    assert (finding.variable, finding.line, finding.symptom_line, finding.count) == told
    assert finding.fix == fix


def test_the_fix_of_a_helpers_read_works_when_pasted() -> None:
    cell = f"import torch\ndef g(t): return t.grad\n{HELPED}got = g(h)"
    (finding,) = run_traced(cell).trace.findings
    lines = cell.split("\n")
    lines.insert(finding.line, finding.fix)
    ran = run_traced("\n".join(lines))
    check_well(ran)
    assert ran.trace.findings == ()
    assert ran.ns["got"].tolist() == [1, 1]

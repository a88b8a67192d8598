"""What a rule's edits make of a failing cell runs, is quiet, and does what was meant."""

from __future__ import annotations

import textwrap

import pytest
import torch
from test_rule_pages import section
from tracing_kit import Ran, run_traced

from leafmagic.findings import RULES

PAGES = {
    "LM101": "assert h.grad.tolist() == [1, 1, 1]",
    "LM102": "assert x.grad.tolist() == [[1, 1]] * 3",
    "LM103": "assert w.is_leaf and abs(w.item() - 3.52) < 1e-5",
    "LM201": "assert w.is_leaf and abs(w - 0.9).max() < 1e-6",
    "LM202": "assert x.grad.tolist() == [1, 1]",
    "LM301": "assert not any(p.requires_grad for p in net.parameters())",
    "LM302": "assert y.grad.tolist() == [1, 1, 1]",
    "LM701": "assert not h.requires_grad and torch.is_grad_enabled()",
    "LM702": "assert not torch.is_inference_mode_enabled()",
    "LM703": "assert w.grad.tolist() == [1, 1]",
    "LM704": "assert w.grad.tolist() == [2] * 4 and flat.grad.shape == (2, 2)",
    "LM802": "",
    "LM803": "",
    "LM804": "g, = torch.autograd.grad(Cube.apply(x), x, create_graph=True)\n"
    "assert torch.autograd.grad(g, x)[0].item() == 12",
    "LM805": "assert not hasattr(y.grad_fn, 'big')",
}
"""By code, what is true once the failing cell of the rule's page is mended and was run."""
IN_WORDS = {"LM801"}
"""The rules of these kinds whose fix is no local one."""
ELSEWHERE = {"LM705", "LM706", "LM806"}
"""Those whose fixes are applied in `tests/cases` and in `test_gradients_returned`."""
KINDS = {
    "nonleaf_grad_read",
    "hidden_leaf",
    "leaf_rebound",
    "leaf_inplace",
    "requires_grad_flag",
    "retain_grad_misuse",
    "grad_mode",
    "custom_function",
}


def mended(text: str, kind: str | None = None) -> tuple[str, Ran]:
    """Run a cell; return its mended text, and what came of that."""
    try:
        fixed = run_traced(text).trace.fixed_source(kind)
        torch.set_grad_enabled(True)
        return fixed, run_traced(fixed)
    finally:
        torch.set_grad_enabled(True)


def test_every_rule_of_these_kinds_is_here() -> None:
    assert {rule.code for rule in RULES if rule.kind in KINDS} <= {*PAGES, *IN_WORDS, *ELSEWHERE}


@pytest.mark.parametrize("code", PAGES)
def test_the_page_of_a_rule(code: str) -> None:
    (rule,) = (rule for rule in RULES if rule.code == code)
    _, ran = mended(section(rule, "Failing cell"))
    assert ran.error is None
    assert ran.trace.findings == ()
    exec(PAGES[code], ran.ns)


CELLS: dict[str, tuple[str, str, str]] = {
    "a gradient by hand": (
        """
        w = torch.ones(2, requires_grad=True)
        h = w * 3
        h.grad = torch.zeros(2)  # it
        h.sum().backward()
        """,
        "h.retain_grad()  # it",
        "assert h.grad.tolist() == [1, 1]",
    ),
    "a read in a loop": (
        """
        w = torch.ones(2, requires_grad=True)
        for k in range(2): h = w * k; h.sum().backward(); h.grad
        """,
        "h = w * k; h.retain_grad(); h.sum()",
        "assert h.grad.tolist() == [1, 1]",
    ),
    "a parameter behind an op": (
        """
        w = torch.nn.Parameter(torch.ones(4)).reshape(2, 2)
        w.sum().backward()
        w.grad
        """,
        "w = torch.nn.Parameter(torch.ones(4).reshape(2, 2))",
        "assert w.grad.shape == (2, 2)",
    ),
    "a leaf from a function": (
        """
        def make():
            return torch.ones(4, requires_grad=True)
        w = make().reshape(2, 2)
        w.sum().backward()
        w.grad
        """,
        "w = make().reshape(2, 2).detach().requires_grad_()",
        "assert w.grad.shape == (2, 2)",
    ),
    "a move": (
        """
        x = torch.ones(2, requires_grad=True)
        x = x.to(torch.float64)
        x.sum().backward()
        x.grad
        """,
        "x = x.detach().to(torch.float64).requires_grad_()",
        "assert x.grad.dtype == torch.float64",
    ),
    "two updates in one line": (
        """
        w, b = (torch.ones(1, requires_grad=True) for _ in range(2))
        for _ in range(2):
            (w * 2 + b).sum().backward()
            w, b = w - 0.5 * w.grad, b.sub(0.5 * b.grad)
        """,
        "    w -= 0.5 * w.grad\n        b.sub_(0.5 * b.grad)\n    w.grad = None\n    b.grad = None",
        "assert (w.item(), b.item()) == (-1, 0)",
    ),
    "an update whose gradient is read later": (
        """
        w = torch.ones(1, requires_grad=True)
        seen = []
        for _ in range(2):
            (w * 2).sum().backward()
            w = w - 0.5 * w.grad
            seen.append(w.grad)
        """,
        "    w.grad = None\n    (w * 2)",
        "assert w.item() == -1 and [g.item() for g in seen] == [2, 2]",
    ),
    "an update of a weight that is cleared": (
        """
        w = torch.ones(1, requires_grad=True)
        for _ in range(2):
            (w * 2).sum().backward()
            with torch.no_grad():
                w = w - 0.5 * w.grad
            w.grad.zero_()
        """,
        "        w -= 0.5 * w.grad\n    w.grad.zero_()",
        "assert w.item() == -1",
    ),
    "clearing before the first pass": (
        """
        w = torch.ones(1, requires_grad=True)
        for _ in range(2):
            w.grad.detach_()
            w.grad.zero_()
            (w * 2).sum().backward()
        """,
        "    if w.grad is not None:\n        w.grad.detach_()\n        w.grad.zero_()\n    (w",
        "assert w.grad.item() == 2",
    ),
    "a write to a result that was saved": (
        """
        x = torch.zeros(2, requires_grad=True)
        a = torch.exp(x)
        a[0] = 3
        a.sum().backward()
        """,
        "a = torch.exp(x).clone()",
        "assert x.grad.tolist() == [0, 1]",
    ),
    "a write to an operand that was saved": (
        """
        x = torch.ones(2, requires_grad=True)
        a = x * 2
        b = a ** 2
        a[0] = 3
        (a.sum() + b.sum()).backward()
        """,
        "b = a.clone() ** 2",
        "assert x.grad.tolist() == [8, 10]",
    ),
    "a flag of a module": (
        "net = torch.nn.Linear(2, 1)\nnet.requires_grad = False\n",
        "net.requires_grad_(False)",
        "assert not net.weight.requires_grad",
    ),
    "a flag that is looked at": (
        "w = torch.ones(1, requires_grad=True)\nif w.requires_grad(): n = 1\n",
        "if w.requires_grad: n = 1",
        "assert n == 1",
    ),
    "a flag that is to be set": (
        "w = torch.ones(1)\nw.requires_grad(True)\n",
        "w.requires_grad_(True)",
        "assert w.requires_grad",
    ),
    "a flag of integers": (
        "x = torch.tensor([1, 2], requires_grad=True)\nx.sum().backward()\n",
        "x = torch.tensor([1, 2]).float().requires_grad_()",
        "assert x.grad.tolist() == [1, 1]",
    ),
    "a parameter of integers": (
        "i = torch.arange(3)\np = torch.nn.Parameter(i)\n",
        "p = torch.nn.Parameter(i, requires_grad=False)",
        "assert p.tolist() == [0, 1, 2]",
    ),
    "a flag of a computed tensor": (
        """
        w = torch.ones(1, requires_grad=True)
        h = w * 2
        h.requires_grad = False
        """,
        "h = h.detach()",
        "assert not h.requires_grad",
    ),
    "nothing to retain": (
        """
        x = torch.ones(2)
        h = x * 2
        h.retain_grad()
        h.sum().backward()
        """,
        "x = torch.ones(2)\nx.requires_grad_()\n",
        "assert h.grad.tolist() == [1, 1]",
    ),
    "a mode over strings and comments": (
        '''
        w = torch.ones(1, requires_grad=True)
        def f(w):
            torch.no_grad()  # not needed
            # why
            s = """a
          b"""

            return w * 2, s
        h, s = f(w)
        ''',
        '    with torch.no_grad():  # not needed\n        # why\n        s = """a\n  b"""\n\n        return',
        "assert not h.requires_grad and s == 'a\\n  b'",
    ),
    "an inference tensor of the cell in a function": (
        """
        w = torch.ones(1, requires_grad=True)
        with torch.inference_mode():
            feat = torch.ones(1)
        def f():
            return w * feat
        f().backward()
        """,
        "return w * feat.clone()",
        "assert w.grad.item() == 1",
    ),
    "a phantom among others": (
        """
        w = torch.nn.Parameter(torch.ones(4))
        with torch.no_grad():
            n = w.sum()
            flat = w.view(2, 2)
        (flat ** 2).sum().backward()
        w.grad
        """,
        "    with torch.enable_grad():\n        flat = w.view(2, 2)",
        "assert w.grad.tolist() == [2] * 4 and not n.requires_grad",
    ),
    "two tensors on ctx": (
        """
        class Keep(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.two = x * 2
                ctx.save_for_backward(x)
                return x ** 2 * 2
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                return g * (x * 2 + ctx.two)
        x = torch.ones(2, requires_grad=True)
        Keep.apply(x).sum().backward()
        """,
        "two = x * 2\n        ctx.save_for_backward(x, two)",
        "assert x.grad.tolist() == [4, 4]",
    ),
}


@pytest.mark.parametrize("name", CELLS)
def test_a_cell(name: str) -> None:
    cell, part, check = CELLS[name]
    text, ran = mended(textwrap.dedent(cell).lstrip("\n"))
    assert part in text
    assert ran.error is None, ran.error
    assert [f for f in ran.trace.findings if f.severity != "info"] == []
    assert ran.notes == []
    exec(check, ran.ns)


def test_a_name_of_the_cell_is_not_bound_in_a_function() -> None:
    cell = """
x = torch.zeros(2, requires_grad=True)
a = torch.exp(x)
def step():
    a.add_(1)
step()
a.sum().backward()
"""
    text, ran = mended(cell)
    assert "a = torch.exp(x).clone()" in text
    assert ran.error is None
    assert ran.ns["x"].grad.tolist() == [1, 1]


def test_without_the_source_the_fix_is_no_code_that_breaks_off() -> None:
    """Code of a plain prompt has no text."""
    for rule in RULES:
        if rule.code not in PAGES:
            continue
        ran = unknown_source(section(rule, "Failing cell"))
        for found in ran.trace.findings:
            assert found.edits == (), found
            assert found.fix
            assert not found.fix.strip().endswith((":", "=", "(", ",", ".")), found.fix
            assert " = ." not in found.fix, found.fix
            assert not found.fix.startswith((".", "(")), found.fix


def unknown_source(text: str) -> Ran:
    """Run code whose text nobody can find."""
    import leafmagic

    ran = Ran({"__name__": "__main__", "torch": torch})
    code = compile(text, "<ipython-input-unknown>", "exec")
    trace = leafmagic.trace()
    try:
        with trace:
            exec(code, ran.ns)
    except Exception as error:
        ran.error = error
    finally:
        torch.set_grad_enabled(True)
    ran.trace = trace
    return ran

"""Custom functions: what is found in them, and what is right and stays quiet."""

from __future__ import annotations

import pytest
from tracing_kit import check_well, run_traced

HEAD = "from torch.autograd import Function\nX = torch.tensor([2.], requires_grad=True)\n"


def function(forward: str, backward: str = "return g", name: str = "F") -> str:
    """Return a custom function; the body of forward begins at line 6."""
    body = "".join(f"        {line}\n" for line in forward.splitlines())
    back = "".join(f"        {line}\n" for line in backward.splitlines())
    return (
        f"{HEAD}class {name}(Function):\n    @staticmethod\n    def forward(ctx, x, p=2):\n{body}"
        f"    @staticmethod\n    def backward(ctx, g):\n{back}"
    )


TWICE = "a, = torch.autograd.grad(F.apply(X), X, create_graph=True)\n(a.sum() + X.sum()).backward()"
ONCE = "F.apply(X).sum().backward()"
SAVED = "s, = ctx.saved_tensors\nreturn g * s * 3 + 0 * g"

MISTAKES = {
    "mode asked in forward": (
        function("if torch.is_grad_enabled():\n    x = x + 1\nreturn x * 2") + "F.apply(X)",
        ("F.forward", 6, 6),
    ),
    "mode asked under another name": (
        "from torch import is_grad_enabled as on\n" + function("k = on()\nreturn x * 2"),
        ("F.forward", 7, 7),
    ),
    "instance called later": (
        f"{HEAD}class Twice(Function):\n    def forward(self, x):\n        return x * 2\n"
        "    def backward(self, g):\n        return g\nf = Twice()\nif True:\n    f(X)",
        ("Twice", 4, 10),
    ),
    "instance of a static function called": (
        function("return x * 2") + "F()(X)",
        ("F", 10, 10),
    ),
    "grad in backward, in one expression": (
        function(
            "ctx.save_for_backward(x)\nreturn x * x",
            "x, = ctx.saved_tensors\nx = x.detach().requires_grad_()\n"
            "return torch.autograd.grad(x * x, x, g)[0]",
        )
        + "y = F.apply(X)\nz = y * 2\nz.sum().backward()",
        ("x * x", 12, 12),
    ),
    "backward in backward": (
        function(
            "ctx.save_for_backward(x)\nreturn x * x",
            "x, = ctx.saved_tensors\nx = x.detach().requires_grad_()\n"
            "with torch.enable_grad():\n    w = x * 3\n"
            "out = (x * x).sum()\nout.backward()\nreturn x.grad * g",
        )
        + "F.apply(X).backward()",
        ("out", 14, 15),
    ),
    "intermediate by name, differentiated twice": (
        function("s = x.square()\nctx.save_for_backward(s)\nreturn x ** 3", SAVED) + TWICE,
        ("s", 7, 14),
    ),
    "intermediate by index": (
        function(
            "e = torch.exp(x)\nctx.save_for_backward(x, e)\nreturn 2 * e",
            "e = ctx.saved_tensors[1]\nreturn g * 2 * e + 0 * g",
        )
        + TWICE,
        ("e", 7, 14),
    ),
    "intermediate in setup_context": (
        f"{HEAD}class F(Function):\n    @staticmethod\n    def forward(x):\n        return x ** 3\n"
        "    @staticmethod\n    def setup_context(ctx, inputs, output):\n        x, = inputs\n"
        "        ctx.save_for_backward(x * x)\n    @staticmethod\n    def backward(ctx, g):\n"
        "        s, = ctx.saved_tensors\n        return g * s * 3 + 0 * g\n" + TWICE,
        ("s", 10, 16),
    ),
}

INFORMATION = {
    "zeros": ("ctx.z = torch.zeros(3)\nreturn x * 2", "ctx.z", 6),
    "method": ("ctx.z = x.detach().clone()\nreturn x * 2", "ctx.z", 6),
    "arithmetic": ("ctx.z = 1 + x.exp() * 2\nreturn x * 2", "ctx.z", 6),
    "mask": ("ctx.z = x.sum() > 0\nreturn x * 2", "ctx.z", 6),
    "through a variable": ("y = x.exp()\nctx.y = y\nreturn y", "ctx.y", 7),
}

FINE = {
    "plain values on ctx": function(
        "ctx.shape = x.shape\nctx.size = x.size(0)\nctx.p = p\nctx.n = x.numel() * 2\n"
        "ctx.s = float(x.sum())\nctx.t = x.sum().item()\nctx.l = x.tolist()\nctx.d = x.device\n"
        "ctx.f = x is not None\nctx.o = not x.sum()\nctx.none = None\nctx.x = x\nreturn x * 2"
    )
    + ONCE,
    "let go in backward": function("ctx.z = x.exp()\nreturn x * 2", "del ctx.z\nreturn g * 2")
    + ONCE,
    "inputs and outputs saved": function(
        "y = x.exp()\nctx.save_for_backward(x, y)\nreturn y",
        "x, y = ctx.saved_tensors\nreturn g * y + 0 * x",
    )
    + TWICE,
    "intermediate, differentiated once": function(
        "ctx.save_for_backward(x * x)\nreturn x ** 3", SAVED
    )
    + ONCE
    + "\n"
    + ONCE,
    "intermediate not used": function(
        "ctx.save_for_backward(x, x * x)\nreturn x ** 3",
        "x, s = ctx.saved_tensors\ns = x * x\nreturn g * s * 3",
    )
    + TWICE,
    "mask saved": function(
        "m = (x > 0).float() / p\nctx.save_for_backward(m)\nreturn x * m",
        "m, = ctx.saved_tensors\nreturn g * m",
    )
    + TWICE,
    "dropout mask saved": function(
        "m = torch.empty_like(x).bernoulli_(0.5) * 2\nctx.save_for_backward(m)\nreturn x * m",
        "m, = ctx.saved_tensors\nreturn g * m",
    )
    + TWICE,
    "indices saved": function(
        "v, i = x.max(0)\nctx.save_for_backward(i)\nreturn v",
        "i, = ctx.saved_tensors\nreturn g.reshape(1) * (1 + 0 * i)",
    )
    + TWICE,
    "contiguous input saved": function(
        "x = x.contiguous()\nctx.save_for_backward(x)\nreturn x * x",
        "x, = ctx.saved_tensors\nreturn g * 2 * x",
    )
    + TWICE,
    "once differentiable": (
        "from torch.autograd.function import once_differentiable\n"
        + function("ctx.save_for_backward(x * x)\nreturn x ** 3", SAVED).replace(
            "    @staticmethod\n    def backward",
            "    @staticmethod\n    @once_differentiable\n    def backward",
        )
        + "a, = torch.autograd.grad(F.apply(X), X, create_graph=True)\nX.exp().sum().backward()"
    ),
    "grad with grad mode on": function(
        "ctx.save_for_backward(x)\nreturn x * x",
        "x, = ctx.saved_tensors\nwith torch.enable_grad():\n    x = x.detach().requires_grad_()\n"
        "    out = x * x\nreturn torch.autograd.grad(out, x, g)[0]",
    )
    + ONCE,
    "mode asked elsewhere": "on = torch.is_grad_enabled()\ndef f():\n    return torch.is_grad_enabled()\n"
    "class M(torch.nn.Module):\n    def forward(self, x):\n"
    "        return x * 2 if torch.is_grad_enabled() else x\nM()(torch.ones(1))\nf()\n"
    + function("return x * 2", "k = torch.is_grad_enabled()\nreturn g * 2")
    + ONCE,
    "mode put back": function(
        "old = torch.is_grad_enabled()\ntorch.set_grad_enabled(False)\n"
        "torch.set_grad_enabled(old)\nreturn x * 2"
    )
    + ONCE,
    "mode asserted": function(
        "assert not torch.is_grad_enabled()\nwith torch.enable_grad():\n"
        "    k = torch.is_grad_enabled()\nreturn x * 2"
    )
    + ONCE,
    "another Function": "class Function:\n    pass\nclass F(Function):\n    def forward(self, x):\n"
    "        self.y = torch.zeros(2)\n        return torch.is_grad_enabled()\nF().forward(1)",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_found(name: str) -> None:
    text, (variable, line, symptom) = MISTAKES[name]
    ran = run_traced(text)
    assert ran.notes == []
    assert ran.found == {("custom_function", variable, line)}
    (found,) = (f for f in ran.trace.findings if f.severity != "info")
    assert found.symptom_line == symptom
    assert found.source == text.splitlines()[line - 1].strip()
    assert found.fix
    assert (ran.error is not None) == (found.severity == "error")
    if ran.error is not None:
        assert [found.code in note for note in ran.error.__notes__] == [True]


@pytest.mark.parametrize("name", INFORMATION)
def test_tensors_on_ctx_are_told_for_information(name: str) -> None:
    forward, variable, line = INFORMATION[name]
    ran = run_traced(function(forward) + ONCE)
    check_well(ran)
    (found,) = ran.trace.findings
    told = (found.kind, found.code, found.severity, found.variable, found.line, found.symptom_line)
    assert told == ("custom_function", "LM805", "info", variable, line, line + 5)


@pytest.mark.parametrize("name", FINE)
def test_quiet(name: str) -> None:
    ran = run_traced(FINE[name])
    check_well(ran)
    assert ran.trace.findings == ()


def test_a_pass_that_fails_outside_is_not_blamed_on_a_backward() -> None:
    text = function("return x * 2", "out = g * 2\nreturn torch.autograd.grad(out, g)[0]")
    ran = run_traced(text + "y = F.apply(X)\ny.detach().sum().backward()")
    assert ran.error is not None
    assert not {f for f in ran.found if f[0] == "custom_function"}


@pytest.mark.parametrize(
    "name", ["intermediate by name, differentiated twice", "grad in backward, in one expression"]
)
def test_a_function_of_an_earlier_cell_is_found_where_it_is_used(name: str) -> None:
    text, (variable, line, _) = MISTAKES[name]
    lines = text.splitlines()
    end = next(i for i, words in enumerate(lines) if i > 3 and words[:1].isalpha())
    first = run_traced("\n".join(lines[:end]))
    assert first.trace.findings == ()
    ran = run_traced("\n" * 40 + "\n".join(lines[end:]), first.ns)
    assert ran.found == {("custom_function", variable, line)}
    (found,) = ran.trace.findings
    # The kit has no names for files that are cells; earlier cells have theirs.
    assert found.cell in (first.trace.cell.filename, first.trace.cell.label)
    assert found.symptom_line is not None
    assert found.symptom_line < 40


def test_fixes_are_made_of_the_cell() -> None:
    def fix(name: str) -> str:
        (found,) = run_traced(MISTAKES[name][0]).trace.findings
        return found.fix.partition("  #")[0]

    assert fix("mode asked in forward") == "F.apply(X, torch.is_grad_enabled())"
    assert fix("instance of a static function called") == "F.apply(X)"
    assert fix("backward in backward") == "with torch.enable_grad(): out = (x * x).sum()"
    assert fix("intermediate by name, differentiated twice").startswith("compute s in backward")
    found = run_traced(
        function("ctx.save_for_backward(x)\nctx.z = x.exp()\nreturn x")
    ).trace.findings[0]
    assert found.fix == (
        "z = x.exp(); ctx.save_for_backward(x, z)  # in backward: x, z = ctx.saved_tensors"
    )
    found = run_traced(function("ctx.z = torch.zeros(3)\nreturn x * 2")).trace.findings[0]
    assert found.fix == (
        "z = torch.zeros(3); ctx.save_for_backward(z)  # in backward: z, = ctx.saved_tensors"
    )

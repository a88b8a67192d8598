"""Grad mode: thrown away, entered by hand, inference tensors, phantom leaves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tracing_kit import check_well, run_traced

from leafmagic.looks import SourceRead

MISTAKES = {
    "thrown away": (
        "torch.no_grad()\nw = torch.ones(1, requires_grad=True)\nprint((w * 2).requires_grad)",
        ("torch.no_grad()", 1, 3),
    ),
    "thrown away under another name": (
        "from torch import enable_grad as on\nimport torch as th\non()\nx = th.ones(1)",
        ("on()", 3, 4),
    ),
    "thrown away in a function": (
        "def f(w):\n    y = w * 3\n    torch.inference_mode()\n    z = 0\n    return w * 2\n"
        "w = torch.ones(1, requires_grad=True)\nf(w)\nw * 5",
        ("torch.inference_mode()", 3, 5),
    ),
    "thrown away anomalies": (
        "import torch.autograd as ag\nag.detect_anomaly(check_nan=True)",
        ("ag.detect_anomaly(check_nan=True)", 2, 2),
    ),
    "guard that dies": (
        "torch.inference_mode().__enter__()\nprint(torch.is_inference_mode_enabled())",
        ("torch.inference_mode()", 1, 2),
    ),
    "inference tensor saved": (
        "w = torch.ones(2, requires_grad=True)\nwith torch.inference_mode():\n"
        "    a = torch.ones(2)\n    feat = a * 3\nplain = torch.ones(2)\nwith torch.no_grad():\n"
        "    other = plain + 1\ny = other * w\nz = feat * y",
        ("feat", 4, 9),
    ),
    "inference tensor of a decorated function": (
        "@torch.inference_mode()\ndef encode(x):\n    h = x + 1\n    return h\n"
        "lin = torch.nn.Linear(2, 1)\nz = encode(torch.ones(1, 2))\nlin(z).sum().backward()",
        ("z", 3, 7),
    ),
    "inference tensor written": (
        "with torch.inference_mode():\n    total = torch.zeros(2)\n    total += 1\ntotal[0] = 5.",
        ("total", 2, 4),
    ),
    "inference tensor to train": (
        "with torch.inference_mode():\n    w = torch.ones(2)\nw.requires_grad_()",
        ("w", 2, 3),
    ),
    "phantom leaf": (
        "w = torch.ones(4, requires_grad=True)\nwith torch.no_grad():\n    half = w[:2]\n"
        "loss = (half * w.sum().detach()).exp().sum()\nloss.backward()\nx = 1\nw.grad",
        ("half", 3, 7),
    ),
    "phantom leaf of several": (
        "w = torch.ones(4, requires_grad=True)\nwith torch.no_grad():\n    a, b = w.chunk(2)\n"
        "(a * w[:2]).sum().backward()",
        ("a", 3, 4),
    ),
    "phantom leaf in a loop": (
        "w = torch.nn.Parameter(torch.ones(4))\nb = torch.zeros(1, requires_grad=True)\n"
        "for _ in range(5):\n    with torch.no_grad():\n        v = w.view(2, 2)\n"
        "    ((v ** 2).sum() + b).backward()",
        ("v", 5, 6),
    ),
}

REVERSED = """class Rev(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return look(x)
    @staticmethod
    def backward(ctx, g):
        return -g
def look(x):
    return x.view_as(x)
w = torch.ones(4, requires_grad=True)
"""

CORRECT = {
    "view returned by a custom function": REVERSED + "Rev.apply(w).sum().backward()",
    "view of a computed tensor": REVERSED + "(Rev.apply(w * 2) * w).sum().backward()",
    "through a layer": REVERSED
    + "for _ in range(3):\n    torch.nn.functional.gelu(Rev.apply(w)).sum().backward()",
    "reentrant checkpoint": (
        "from torch.utils.checkpoint import checkpoint\nw = torch.ones(4, requires_grad=True)\n"
        "y = checkpoint(lambda t: t.view(2, 2), w, use_reentrant=True)\n"
        "z = checkpoint(lambda t: t[:2].exp().view(2), w, use_reentrant=True)\n"
        "((y ** 2).sum() + z.sum()).backward()\nassert w.grad is not None"
    ),
    "as the root": REVERSED + "y = Rev.apply(w.sum())\ny.backward()",
    "kept and used": "m = torch.no_grad()\nwith m:\n    y = torch.ones(2) * 2",
    "kept and entered": (
        "m = torch.inference_mode()\nm.__enter__()\ny = torch.ones(2)\nm.__exit__(None, None, None)"
    ),
    "decorators": (
        "@torch.no_grad()\ndef f(x):\n    return x * 2\n@torch.inference_mode\ndef g(x):\n"
        "    return x\nf(torch.ones(2)), g(torch.ones(2))\nh = torch.no_grad()(lambda x: x + 1)\n"
        "h(torch.ones(1))"
    ),
    "stack": (
        "import contextlib\nwith contextlib.ExitStack() as stack:\n"
        "    stack.enter_context(torch.no_grad())\n    y = torch.ones(2) * 2"
    ),
    "switches": (
        "torch.set_grad_enabled(False)\ntorch.autograd.set_detect_anomaly(True)\n"
        "torch.set_grad_enabled(True)\ntorch.autograd.set_detect_anomaly(False)"
    ),
    "another no_grad": (
        "class no_grad:\n    def __init__(self):\n        pass\nclass other:\n    no_grad = no_grad\n"
        "no_grad()\nother.no_grad()"
    ),
    "metrics in inference mode": (
        "net = torch.nn.Linear(2, 1)\nwith torch.inference_mode():\n    total = torch.zeros(1)\n"
        "    total += net(torch.ones(1, 2)).sum()\n    total /= 2\nmean = total / 3\nmean.item()\n"
        "net(torch.ones(1, 2)).sum().backward()"
    ),
    "inference tensor cloned": (
        "w = torch.ones(2, requires_grad=True)\nwith torch.inference_mode():\n"
        "    feat = torch.ones(2)\n(w * feat.clone()).sum().backward()"
    ),
    "view read only": (
        "w = torch.ones(4, requires_grad=True)\nwith torch.no_grad():\n    flat = w.view(2, 2)\n"
        "    top = flat.max()\nprint(flat.shape, flat.tolist())\n"
        "loss = (w / top).sum()\nloss.backward()"
    ),
    "view detached": (
        "w = torch.ones(4, requires_grad=True)\nwith torch.no_grad():\n    flat = w.view(2, 2)\n"
        "y = (flat.detach() * w[0]).sum()\ny.backward()"
    ),
    "view updated": (
        "w = torch.ones(4, requires_grad=True)\n(w * 2).sum().backward()\nwith torch.no_grad():\n"
        "    v = w[:2]\n    v -= 0.1 * w.grad[:2]\n(w ** 2).sum().backward()"
    ),
    "view made a leaf": (
        "w = torch.ones(4, requires_grad=True)\nwith torch.no_grad():\n    v = w[:2]\n"
        "v.requires_grad_()\n(v * 2).sum().backward()\nassert v.grad is not None"
    ),
    "view of a plain tensor": (
        "v = torch.zeros(4)[:2].requires_grad_()\n(v * 2).sum().backward()\nv.grad"
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_found(name: str) -> None:
    text, (variable, line, symptom) = MISTAKES[name]
    ran = run_traced(text)
    assert ran.notes == []
    assert ran.found == {("grad_mode", variable, line)}
    (found,) = (f for f in ran.trace.findings if f.severity != "info")
    assert found.symptom_line == symptom
    assert found.source == text.splitlines()[line - 1].strip()
    assert found.message
    assert found.fix
    torch.set_grad_enabled(True)


@pytest.mark.parametrize("name", CORRECT)
def test_quiet(name: str) -> None:
    ran = run_traced(CORRECT[name])
    check_well(ran)
    assert ran.trace.findings == ()


def test_a_mode_entered_for_good_is_for_information() -> None:
    try:
        ran = run_traced("torch.no_grad().__enter__()\nx = 1")
    finally:
        torch.set_grad_enabled(True)
    (found,) = ran.trace.findings
    assert (found.kind, found.severity, found.line) == ("grad_mode", "info", 1)


def test_names_of_earlier_cells_are_known() -> None:
    ns: dict[str, Any] = {"off": torch.no_grad, "T": torch, "no_grad": print}
    ran = run_traced("off()\nT.enable_grad()\nno_grad()", ns)
    assert ran.found == {("grad_mode", "off()", 1), ("grad_mode", "T.enable_grad()", 2)}


def test_an_explained_error_has_the_note() -> None:
    ran = run_traced("with torch.inference_mode():\n    t = torch.zeros(1)\nt /= 2")
    (note,) = ran.error.__notes__  # type: ignore[union-attr]
    assert "LM703" in note
    assert note.endswith("fix: t = t / 2")


def test_the_fixes_run() -> None:
    ran = run_traced("with torch.inference_mode():\n    t = torch.zeros(1)\nt /= 2")
    exec(ran.trace.findings[0].fix, ran.ns)
    ran = run_traced(MISTAKES["phantom leaf of several"][0])
    assert ran.trace.findings[0].fix == "a, b = w.chunk(2)  # outside of torch.no_grad()"
    ran = run_traced("torch.no_grad()")
    try:
        exec(ran.trace.findings[0].fix, ran.ns)
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_of_a_file_only_the_block_is_read(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "script.py"
    path.write_text(
        "import leafmagic, torch as th\nth.no_grad()\ndef f():\n    with (\n"
        "        leafmagic.trace() as t\n    ):\n        x = 1\n        th.enable_grad()\n"
        "    th.no_grad()\n    return t\nt = f()\n"
    )
    ns: dict[str, Any] = {"__name__": "script"}
    exec(compile(path.read_text(), str(path), "exec"), ns)
    assert [(f.kind, f.variable, f.line) for f in ns["t"].findings] == [
        ("grad_mode", "th.enable_grad()", 8)
    ]


def test_the_text_is_sent_once() -> None:
    seen: list[Any] = []
    from leafmagic.model import Model

    feed = Model.feed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Model, "feed", lambda self, e: (seen.append(e), feed(self, e)))
        run_traced("x = 1\ny = torch.ones(2)")
    read = [event for event in seen if isinstance(event, SourceRead)]
    assert [(e.text, e.names, e.first, e.last) for e in read] == [
        ("x = 1\ny = torch.ones(2)", (("torch", "torch"),), 1, 2)
    ]
    assert type(seen[seen.index(read[0]) + 1]).__name__ == "Finished"

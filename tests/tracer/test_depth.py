"""Deep and wide graphs: nothing recurses, nothing takes quadratic time."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from tracing_kit import check_well, run_traced

import leafmagic

CHAIN = """
x = torch.ones(2, requires_grad=True)
y = x
for _ in range(N):
    y = y + 1
"""
UNROLLED = "x = torch.ones(2, requires_grad=True)\ny = x\n" + "y = y + 1\n" * 300


DEEP = """
import torch, leafmagic
x = torch.ones(2, requires_grad=True)
y = x
N = 70_000
def build(y):
    for _ in range(N):
        y = y + 1
    return y
{}
assert t.document()["nodes"] and t.document()["status"]["notes"] == [], t.document()["status"]
assert x.grad is None or x.grad.tolist() == [1, 1]
del y
print("freed")
"""
DEEP_WAYS = {
    "traced": "with leafmagic.trace() as t:\n    y = build(y)\n    y.sum().backward()",
    "made before": """
y = build(y)
with leafmagic.trace() as t:
    z = y.sum()
assert leafmagic.graph_of(z).nodes
del z
""",
}


@pytest.mark.parametrize("way", DEEP_WAYS)
def test_very_long_chain(way: str) -> None:
    """In a process of its own: who overflows the stack takes the process along."""
    started = time.process_time()
    done = subprocess.run(
        [sys.executable, "-c", DEEP.format(DEEP_WAYS[way])],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert done.stdout.strip() == "freed"
    assert time.process_time() - started < 150


def test_long_chain_is_drawn_and_saved(tmp_path: Path) -> None:
    from leafmagic.render.payload import build_payload
    from leafmagic.render.svg import render_svg
    from leafmagic.render.text import render_text

    ran = run_traced(f"N = 1_500\n{CHAIN}")
    check_well(ran)
    started = time.process_time()
    payload = build_payload(ran.trace.document())
    assert "<svg" in render_svg(payload)
    assert "x" in render_text(payload)
    for ending in ("svg", "html", "json", "dot"):
        ran.trace.save(tmp_path / f"chain.{ending}")
    assert time.process_time() - started < 60


def test_old_chain_is_walked_once() -> None:
    x = torch.ones(2, requires_grad=True)
    y = x
    for _ in range(8_000):
        y = y + 1
    with leafmagic.trace() as trace:
        started = time.process_time()
        for _ in range(200):
            (y * 2).sum()
        took = time.process_time() - started
    assert took < 3
    assert trace.document()["status"]["notes"] == []


def test_statement_by_statement_chain_keeps_the_history() -> None:
    ran = run_traced(UNROLLED)
    check_well(ran)
    ops = [n for n in ran.trace.graph.nodes if n.kind == "op"]
    assert len(ops) == 300
    assert {n.line for n in ops} == set(range(3, 303))


def test_wide_graph() -> None:
    text = """
leaves = [torch.ones(1, requires_grad=True) for _ in range(N)]
total = torch.stack(leaves).sum()
total.backward()
"""
    started = time.process_time()
    ran = run_traced(f"N = 3_000\n{text}")
    assert time.process_time() - started < 30
    check_well(ran)
    ran.trace.document()


def test_diamonds_are_not_walked_path_by_path() -> None:
    text = """
x = torch.ones(2, requires_grad=True)
y = x
for _ in range(200):
    y = y * 0.5 + y * 0.5
y.retain_grad()
l = y.sum()
l.backward()
h = l.detach() + 1
v = y.grad
"""
    started = time.process_time()
    ran = run_traced(text)
    assert time.process_time() - started < 20
    check_well(ran)
    assert ran.node("h").state == "constant"


@pytest.mark.parametrize("depth", [50, 400])
def test_deep_modules(depth: int) -> None:
    net: Any = torch.nn.Linear(2, 2)
    for _ in range(depth):
        net = torch.nn.Sequential(net)
    try:
        plain = net(torch.ones(1, 2)).sum()
    except RecursionError:
        pytest.skip("torch itself cannot")
    ran = run_traced("l = net(torch.ones(1, 2)).sum()\nl.backward()", {"torch": torch, "net": net})
    check_well(ran)
    assert torch.equal(ran.ns["l"], plain)

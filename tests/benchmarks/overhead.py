"""What tracing costs. Run: python tests/benchmarks/overhead.py [--rounds N]

Plain steps, steps under a TorchFunctionMode that does nothing, traced steps and steps
under detect_anomaly take turns within one process, on one thread. What counts is the
ratio to the plain steps of the same round; the median over all rounds is printed. Every
block takes two steps before its time is taken. The time of a traced block includes the
folding of all that it recorded. What a trace pays once is printed apart: its start and
stop, and its first step, in which every place of the code is new.

A trace that ignores every kind of finding takes its turn, too: the column "rules" is what
a traced step costs in terms of one without rules.

Limits: MLP of 13 layers 1.25, MLP of 2 layers 2.2, chain of 500 ops 2.4, rules 1.10,
tensor and process memory 1.02; always below detect_anomaly. The exit status tells whether
all hold.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

import leafmagic
from leafmagic.findings import KINDS

Step = Callable[[], None]


class NoOp(TorchFunctionMode):
    """Sees everything and does nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def mlp_step(layers: int, width: int, batch: int) -> Step:
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for _ in range(layers - 1):
        parts += [nn.Linear(width, width), nn.ReLU()]
    net = nn.Sequential(*parts, nn.Linear(width, width))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    x, y = torch.randn(batch, width), torch.randn(batch, width)

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()

    return step


def chain_step(length: int) -> Step:
    x = torch.ones(3, requires_grad=True)

    def step() -> None:
        y = x
        for _ in range(length // 2):
            y = y * 1.01
            y = y + 0.5
        x.grad = None
        y.sum().backward()

    return step


CASES = {
    "MLP, 13 layers": (lambda: mlp_step(13, 256, 64), 20, 1.25),
    "MLP, 2 layers": (lambda: mlp_step(2, 32, 16), 150, 2.2),
    "chain of 500 ops": (lambda: chain_step(500), 12, 2.4),
}


def timed(step: Step, steps: int, inside: AbstractContextManager[object]) -> float:
    with inside as entered:
        step()
        step()
        if isinstance(entered, leafmagic.Trace):
            entered.drain()
        started = time.perf_counter()
        for _ in range(steps):
            step()
        if isinstance(entered, leafmagic.Trace):
            entered.drain()
        return time.perf_counter() - started


def measure(make: Callable[[], Step], steps: int, rounds: int) -> dict[str, float]:
    step = make()
    ways: dict[str, Callable[[], AbstractContextManager[object]]] = {
        "plain": nullcontext,
        "no-op mode": NoOp,
        "traced": leafmagic.trace,
        "no rules": lambda: leafmagic.trace(ignore=KINDS),
        "detect_anomaly": lambda: torch.autograd.detect_anomaly(check_nan=False),
    }
    for make_context in ways.values():
        timed(step, max(steps // 4, 2), make_context())
    ratios: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        taken = {name: timed(step, steps, make()) for name, make in ways.items()}
        for name, seconds in taken.items():
            ratios[name].append(seconds / taken["plain"])
        ratios.setdefault("plain ms", []).append(1e3 * taken["plain"] / steps)
        ratios.setdefault("rules", []).append(taken["traced"] / taken["no rules"])
    return {name: statistics.median(values) for name, values in ratios.items()}


def first_step(make: Callable[[], Step], rounds: int) -> float:
    """Return the milliseconds of the first step of a trace, folding included."""
    step = make()
    step()
    taken = []
    for _ in range(rounds):
        with leafmagic.trace() as trace:
            started = time.perf_counter()
            step()
            trace.drain()
            taken.append(1e3 * (time.perf_counter() - started))
    return statistics.median(taken)


def start_and_stop(rounds: int) -> float:
    """Return the milliseconds that an empty trace takes."""
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        with leafmagic.trace():
            pass
        taken.append(1e3 * (time.perf_counter() - started))
    return statistics.median(taken)


def tensor_peak(traced: bool) -> int:
    """Return the largest number of bytes that torch had allocated during ten steps."""
    step = mlp_step(13, 256, 64)
    step()
    with (
        leafmagic.trace() if traced else nullcontext(),
        torch.profiler.profile(profile_memory=True, acc_events=True) as profile,
    ):
        for _ in range(10):
            step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(path))
        events = json.loads(path.read_text())["traceEvents"]
    return max(e["args"]["Total Allocated"] for e in events if e.get("name") == "[memory]")


def process_peak(traced: bool) -> int:
    """Return the peak resident bytes of a process whose steps fill a gigabyte."""
    step = mlp_step(13, 256, 32_768)
    with leafmagic.trace() if traced else nullcontext():
        for _ in range(3):
            step()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def in_a_process(function: str, traced: bool) -> int:
    """Return what a function of this file returns in a process of its own."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import overhead, torch;"
        f"torch.set_num_threads(1); print(overhead.{function}({traced}))"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=25)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread, medians over {rounds} rounds")
    print(
        f"{'':18}{'plain ms':>10}{'no-op':>8}{'traced':>8}{'anomaly':>9}{'limit':>7}{'rules':>7}{'1st step ms':>12}"
    )
    good = True
    for name, (make, steps, limit) in CASES.items():
        found = measure(make, steps, rounds)
        good &= found["traced"] <= min(limit, found["detect_anomaly"])
        good &= found["rules"] <= 1.10
        print(
            f"{name:18}{found['plain ms']:10.3f}{found['no-op mode']:8.2f}"
            f"{found['traced']:8.2f}{found['detect_anomaly']:9.2f}{limit:7.2f}{found['rules']:7.2f}"
            f"{first_step(make, rounds):12.2f}"
        )
    print(f"an empty trace takes {start_and_stop(rounds):.2f} ms")
    for function in ("tensor_peak", "process_peak"):
        plain, traced = in_a_process(function, False), in_a_process(function, True)
        good &= traced <= 1.02 * plain
        print(f"{function}: {traced / plain:.4f} of {plain / 2**20:.1f} MiB, limit 1.02")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

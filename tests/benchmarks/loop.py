"""What tracing a long loop costs. Run: python tests/benchmarks/loop.py [--steps N]

Each loop runs in a process of its own, on one thread, traced from its first step to its
last; between two stretches the untraced step is timed again, so that the ratios are of
one run. Printed for each: steps per second untraced and traced, the ratio of the two over
the first and over the last tenth of the steps, and by how much the process has grown
between step 500 and the last. Then the same with gradients measured in all passes, what
the live display sends, and how large the saved output is after 100 steps and after all.

Limits: growth 5 MB; the last tenth of the steps costs at most 1.15 times the first;
10 batches a second; the saved output grows by 1 %. The exit status tells whether all hold.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import leafmagic

Step = Callable[[], None]

MOST_GROWTH_MB = 5.0
MOST_SLOWER = 1.15
MOST_BATCHES = 10.0
WARM = 500


def training() -> Step:
    """A step over a graph of about a hundred nodes."""
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for _ in range(15):
        parts += [nn.Linear(32, 32), nn.Tanh()]
    net = nn.Sequential(*parts, nn.Linear(32, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
    x, y = torch.randn(16, 32), torch.randn(16, 1)

    def step() -> None:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()

    return step


def varying() -> Step:
    """A recurrent step with a length and a branch of its own each time."""
    torch.manual_seed(0)
    w = torch.randn(8, 8, requires_grad=True)
    count = [0]

    def step() -> None:
        count[0] += 1
        h = torch.zeros(8)
        for _ in range(10 + count[0] * 7 % 11):
            h = torch.tanh(w @ h + 1)
        if count[0] % 8 == 3:
            h = h.exp()
        h.sum().backward()
        w.grad = None

    return step


def inference(context: Callable[[], Any]) -> Step:
    torch.manual_seed(0)
    parts: list[nn.Module] = []
    for _ in range(15):
        parts += [nn.Linear(32, 32), nn.Tanh()]
    net, x = nn.Sequential(*parts, nn.Linear(32, 1)), torch.randn(16, 32)
    last: list[torch.Tensor] = []

    def step() -> None:
        with context():
            out = net(x)
        last[:] = [out.mean()]  # alive while the next round runs, as a variable would be

    return step


LOOPS: dict[str, tuple[Callable[[], Step], dict[str, str]]] = {
    "training": (training, {}),
    "training, norm": (training, {"grads": "norm"}),
    "training, off": (training, {"grads": "off"}),
    "varying": (varying, {}),
    "no_grad": (lambda: inference(torch.no_grad), {}),
    "inference_mode": (lambda: inference(torch.inference_mode), {}),
    "with graphs": (lambda: inference(contextlib.nullcontext), {}),
}


def resident_mb() -> float:
    """Return the memory of this process that is in use."""
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise OSError("VmRSS is not known here")


def per_step(step: Step, steps: int) -> float:
    """Return the seconds of one step, in which this process ran: others may run, too."""
    began = time.process_time()
    for _ in range(steps):
        step()
    return (time.process_time() - began) / steps


def run(name: str, steps: int) -> dict[str, float]:
    """Run a loop in this process."""
    torch.set_num_threads(1)
    make, options = LOOPS[name]
    step, plain_step = make(), make()
    stretch = max(steps // 50, 25)
    per_step(plain_step, stretch)
    traced: list[float] = []
    plain: list[float] = []
    done, before = 0, 0.0
    with leafmagic.trace(**options) as trace:
        while done < steps:
            if done >= min(WARM, steps // 2) and not before:
                before = resident_mb()
            traced.append(per_step(step, stretch))
            trace.drain()
            done += stretch
            # Code that a trace does not see: the mode is set aside.
            with torch._C.DisableTorchFunction():
                plain.append(per_step(plain_step, stretch // 5))
        grown = resident_mb() - before
        nodes = len(trace.graph.nodes)
    ratios = [one / other for one, other in zip(traced, plain, strict=True)]
    tenth = max(len(ratios) // 10, 2)
    return {
        "nodes": nodes,
        "plain": 1 / statistics.median(plain),
        "traced": 1 / statistics.median(traced),
        "first": statistics.median(ratios[1 : 1 + tenth]),
        "last": statistics.median(ratios[-tenth:]),
        "grown": grown,
    }


class FakeWidget:
    """Counts what a page would get."""

    sent: list[tuple[float, int]] = []  # noqa: RUF012  (of the one that is made)

    def __init__(self, payload: Any, twin_id: str) -> None:
        self.payload = payload
        self.twin_id = twin_id
        self.sent.clear()

    def bundle(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        pass

    def send(self, message: Any) -> None:
        self.sent.append((time.monotonic(), len(json.dumps(message))))


def live(steps: int) -> dict[str, float]:
    """Run the training loop under a live display; say what it sent and what is kept."""
    from leafmagic.render.live import LiveDisplay

    torch.set_num_threads(1)
    step = training()
    kept: dict[str, int] = {}
    with leafmagic.trace() as trace:
        display = LiveDisplay(
            trace,
            publish=lambda bundle, _id, _update: kept.update(
                output=sum(len(str(part)) for part in bundle.values())
            ),
            widget=FakeWidget,
        )
        began = time.monotonic()
        per_step(step, steps)
        lasted = time.monotonic() - began
    display.close()
    times = [at for at, _ in FakeWidget.sent]
    most = max((sum(1 for t in times if at <= t < at + 1) for at in times), default=0)
    return {
        "most in a second": float(most),
        "batches": float(len(times)),
        "seconds": lasted,
        "bytes": statistics.median([size for _, size in FakeWidget.sent] or [0]),
        "output": float(kept["output"]),
        "document": float(len(json.dumps(trace.document()))),
    }


def in_a_process(function: str, *args: object) -> dict[str, float]:
    """Return what a function of this file returns in a process of its own."""
    code = (
        "import sys, json; sys.path.insert(0, sys.argv[1]); import loop;"
        f"print(json.dumps(loop.{function}{args!r}))"
    )
    command = [sys.executable, "-W", "ignore", "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("loops", nargs="*", default=list(LOOPS), help="some of the loops only")
    given = parser.parse_args()
    steps, good = given.steps, True
    print(f"torch {torch.__version__}, one thread, {steps} steps")
    heads = ("nodes", "plain /s", "traced /s", "first", "last", "grown MB")
    print(f"{'':16}" + "".join(f"{head:>11}" for head in heads))
    for name in given.loops:
        found = in_a_process("run", name, steps)
        good &= found["grown"] < MOST_GROWTH_MB and found["last"] < MOST_SLOWER * found["first"]
        print(
            f"{name:16}{found['nodes']:11.0f}{found['plain']:11.0f}{found['traced']:11.0f}"
            f"{found['first']:11.2f}{found['last']:11.2f}{found['grown']:11.2f}",
            flush=True,
        )
    few, many = in_a_process("live", 100), in_a_process("live", steps)
    good &= many["most in a second"] <= MOST_BATCHES and many["output"] < 1.01 * few["output"] + 500
    print(
        f"live: {many['batches']:.0f} batches in {many['seconds']:.1f} s, at most "
        f"{many['most in a second']:.0f} in a second, {many['bytes'] / 1024:.1f} KB each\n"
        f"saved output: {few['output'] / 1024:.1f} KB after 100 steps, "
        f"{many['output'] / 1024:.1f} KB after {steps}; document "
        f"{few['document'] / 1024:.1f} and {many['document'] / 1024:.1f} KB"
    )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

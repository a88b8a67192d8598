"""The code that is traced does not wait while somebody builds a large graph of it."""

from __future__ import annotations

import threading

import torch

import leafmagic


def test_the_code_goes_on_while_the_trace_is_being_drawn() -> None:
    taken, over = threading.Event(), threading.Event()

    def draw(trace: leafmagic.Trace) -> None:
        with trace._lock:  # type: ignore[attr-defined]
            taken.set()
            over.wait(60)

    with leafmagic.trace() as trace:
        names = {"w": torch.ones(3, requires_grad=True)}
        thread = threading.Thread(target=draw, args=(trace,))
        thread.start()
        taken.wait(60)
        # So many events that are new would be folded long before.
        for number in range(400):
            code = compile(f"(w * {number}).sum()", f"<ipython-input-{number}-w>", "eval")
            eval(code, names).backward()
        waiting = len(trace._log)
        over.set()
        thread.join()
    assert waiting > 800
    assert trace.document()["status"]["notes"] == []
    assert sum(root["steps"] for root in trace.document()["training"]["roots"]) == 400

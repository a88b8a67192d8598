"""A traced cell behaves as an ordinary cell: in a real kernel, row by row."""

from __future__ import annotations

import time
from typing import Any

import pytest

pytestmark = pytest.mark.kernel

TRACED = "%%autograd --into t\n"


def _traced(kernel: Any, *, error: str = "") -> None:
    """The last trace saw the cell, has ended and knows how."""
    status = kernel.value("t.document()['status']")
    assert status["running"] is False
    assert status["events"] > 0
    assert status["error"].startswith(error)
    assert bool(status["error"]) == bool(error)


def _number(kernel: Any) -> int:
    """``n`` of the cell that runs next."""
    number: int = kernel.value("len(In)")
    return number


def test_value_out_and_underscore(kernel: Any) -> None:
    number = _number(kernel)
    reply = kernel.run(TRACED + "w = torch.ones(3, requires_grad=True)\n(w * 2).sum().item()")
    assert reply.status == "ok"
    assert reply.result == (number, "6.0")
    assert kernel.value(f"Out[{number}]") == 6.0
    _traced(kernel)


def test_underscore_is_the_value_of_the_traced_cell(kernel: Any) -> None:
    kernel.run(TRACED + "torch.ones(1).item() + 41")
    reply = kernel.run("_")
    assert reply.result is not None
    assert reply.result[1] == "42.0"


def test_the_typed_text_stays_in_the_history(kernel: Any) -> None:
    kernel.run(TRACED + "x = torch.ones(1)")
    assert kernel.value("In[-2]").startswith("get_ipython()")
    assert kernel.value("get_ipython().history_manager.input_hist_raw[-3]") == (
        TRACED + "x = torch.ones(1)"
    )


def test_semicolon_silences(kernel: Any) -> None:
    reply = kernel.run(TRACED + "torch.ones(1) + 1;")
    assert reply.status == "ok"
    assert reply.result is None
    assert reply.outputs[-1]["type"] == "execute_input"
    _traced(kernel)


def test_top_level_await(kernel: Any) -> None:
    reply = kernel.run(
        TRACED + "import asyncio\nw = torch.ones(2, requires_grad=True)\n"
        "await asyncio.sleep(0.01)\nloss = (w * 3).sum()\n"
        "await asyncio.sleep(0.01)\nloss.backward()\nw.grad.tolist()"
    )
    assert reply.status == "ok", reply
    assert reply.result is not None
    assert reply.result[1] == "[3.0, 3.0]"
    _traced(kernel)
    assert {"w", "loss"} <= set(kernel.value("[n.name for n in t.graph.nodes]"))


@pytest.mark.parametrize("way", ["plain", "await"])
def test_error_stops_run_all_and_names_cell_and_line(kernel: Any, way: str) -> None:
    wait = "import asyncio; await asyncio.sleep(0)" if way == "await" else "pass"
    number = _number(kernel) + 1  # after the cell that waits
    before, broken, after = kernel.run_all(
        "reached = 'before'",
        TRACED + f"{wait}\nw = torch.ones(3, requires_grad=True)\n\nw += 1  # here",
        "reached = 'after'",
    )
    assert (before.status, broken.status, after.status) == ("ok", "error", "aborted")
    assert kernel.value("reached") == "before"
    (shown,) = broken.errors
    assert f"Cell In[{number + 1}], line 5" in shown
    assert "----> 5 w += 1  # here" in shown
    assert shown.count("RuntimeError: a leaf Variable") == 1
    assert "leafmagic LM" in shown
    assert "/leafmagic/" not in shown
    assert broken.ename == "RuntimeError"
    _traced(kernel, error="RuntimeError")


def test_a_usage_error_stops_run_all_and_the_cell_does_not_run(kernel: Any) -> None:
    bad, after = kernel.run_all("%%autograd --mode loud\nran = 1", "ran = 2")
    assert (bad.status, after.status) == ("error", "aborted")
    assert not bad.errors
    assert bad.text("stderr").startswith("UsageError: ")
    assert bad.text("stderr").count("\n") == 1
    assert kernel.value("'ran' in globals()") is False


@pytest.mark.parametrize("way", ["plain", "await"])
def test_strict_stops_run_all_after_the_cell_ran(kernel: Any, way: str) -> None:
    wait = "import asyncio; await asyncio.sleep(0)\n" if way == "await" else ""
    kernel.run("kept = None")
    strict, after = kernel.run_all(
        "%%autograd --strict --into t\n" + wait + "w = torch.ones(3, requires_grad=True)\n"
        "h = w * 2\nh.sum().backward()\nkept = h.grad is None\nh.grad",
        "kept = 'after'",
    )
    assert (strict.status, after.status) == ("error", "aborted")
    assert strict.ename == "StrictError"
    (shown,) = strict.errors
    assert shown.count("\n") == 0
    assert "`h`" in shown
    assert kernel.value("kept") is True
    _traced(kernel)


def test_strict_stops_nbclient_too(tmp_path: Any, kernel: Any) -> None:
    import nbclient
    import nbformat

    body = "import torch\nw = torch.ones(3, requires_grad=True)\nh = w * 2\nh.sum().backward()\n"
    cells = ["%load_ext leafmagic", f"%%autograd --strict --mode off\n{body}h.grad", "after = 1"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    with pytest.raises(nbclient.exceptions.CellExecutionError, match="StrictError"):
        nbclient.NotebookClient(book, timeout=90, kernel_name="python3").execute()
    # Nothing of ours is shown, so torch's own warning is.
    warned, error = book.cells[1].outputs
    assert (warned.output_type, error.output_type) == ("stream", "error")
    assert "UserWarning: The .grad attribute" in warned.text
    assert not book.cells[2].outputs
    assert book.cells[2].execution_count is None


def test_inside_time(kernel: Any) -> None:
    reply = kernel.run("%%time\n" + TRACED + "w = torch.ones(3, requires_grad=True)\nl = w.sum()")
    assert reply.status == "ok", reply
    assert "Wall time" in reply.text("stdout")
    _traced(kernel)
    assert {"w", "l"} <= set(kernel.value("[n.name for n in t.graph.nodes]"))


def test_time_inside(kernel: Any) -> None:
    reply = kernel.run(TRACED + "%%time\nw = torch.ones(3, requires_grad=True)\nl = w.sum()")
    assert reply.status == "ok", reply
    assert "Wall time" in reply.text("stdout")
    _traced(kernel)


@pytest.mark.parametrize("order", ["inside", "outside"])
def test_capture(kernel: Any, order: str) -> None:
    body = "w = torch.ones(3, requires_grad=True)\nl = w.sum()\nprint('hidden')\nl.item()"
    heads = ("%%capture got\n", TRACED)
    reply = kernel.run("".join(heads if order == "inside" else heads[::-1]) + body)
    assert reply.status == "ok", reply
    assert "hidden" not in reply.text()
    assert reply.result is None
    assert kernel.value("got.stdout").strip().startswith("hidden")
    _traced(kernel)


@pytest.mark.parametrize("way", ["plain", "await", "backward"])
def test_keyboard_interrupt_ends_the_trace(kernel: Any, way: str) -> None:
    loop = {
        "plain": "import time\nfor _ in range(600):\n    time.sleep(0.1)\n    l = w.sum()",
        # An event loop that sleeps notices the interrupt only when it wakes, with or
        # without us.
        "await": "import asyncio\nfor _ in range(600):\n    await asyncio.sleep(0.1)",
        "backward": "while True:\n    (w * 2).sum().backward()",
    }[way]
    sent: list[float] = []

    def interrupt(out: dict[str, Any]) -> None:
        if out["type"] == "stream" and "started" in out["text"] and not sent:
            time.sleep(0.3)
            sent.append(time.monotonic())
            kernel.manager.interrupt_kernel()

    code = "w = torch.ones(3, requires_grad=True)\nl = w.sum()\nprint('started', flush=True)\n"
    reply = kernel.run(TRACED + code + loop, when=interrupt, timeout=30)
    assert sent
    assert reply.status == "error"
    assert reply.ename in ("KeyboardInterrupt", "CancelledError")
    _traced(kernel, error=reply.ename)
    assert len(reply.errors) == 1


def test_system_exit_ends_the_trace(kernel: Any) -> None:
    reply = kernel.run(TRACED + "w = torch.ones(3)\nimport sys\nsys.exit(3)")
    assert reply.status == "error"
    assert reply.ename == "SystemExit"
    _traced(kernel, error="SystemExit")


def test_syntax_error_never_begins_one(kernel: Any) -> None:
    kernel.run("t = None")
    reply = kernel.run(TRACED + "w = torch.ones(3)\nx = = 1")
    assert reply.status == "error"
    assert reply.ename == "SyntaxError"
    assert len(reply.errors) == 1
    assert kernel.value("t") is None


def test_nested_run_cell_does_not_end_it(kernel: Any) -> None:
    reply = kernel.run(
        TRACED + "get_ipython().run_cell('w = torch.ones(3, requires_grad=True)')\n"
        "during = t.running\nl = (w * 2).sum()\nl.backward()"
    )
    assert reply.status == "ok", reply
    assert kernel.value("during") is True
    assert kernel.value("t.document()['status']['steps']") == 1
    _traced(kernel)


def test_nested_error_is_swallowed_as_ever_and_shown_once(kernel: Any) -> None:
    reply = kernel.run(TRACED + "x = torch.ones(1)\nget_ipython().run_cell('1 / 0')\nx + 1")
    assert reply.status == "ok"
    assert len(reply.errors) == 1
    assert "ZeroDivisionError" in reply.errors[0]


def test_silent_execution_ends_too(kernel: Any) -> None:
    message = kernel.send(TRACED + "w = torch.ones(3)\nl = w.sum()", silent=True)
    kernel.collect(message)
    _traced(kernel)


def test_always_on(kernel: Any) -> None:
    def label() -> Any:
        return kernel.value("leafmagic.last().document()['cell']['label']")

    kernel.run("import leafmagic\n%autograd on")
    number = _number(kernel)
    try:
        reply = kernel.run("v = torch.ones(2, requires_grad=True)\nm = (v * 2).sum()\nm.backward()")
        assert reply.status == "ok"
        kernel.run("seen = leafmagic.last()")  # traced as well: its own trace comes first
        reply = kernel.run("v = torch.ones(2, requires_grad=True)\n\nv += 1")
        (shown,) = reply.errors
        assert f"Cell In[{number + 2}], line 3" in shown
        assert "leafmagic LM" in shown
    finally:
        kernel.run("%autograd off")
    assert label().startswith("Cell In[")
    after = label()
    kernel.run("v = torch.ones(2)")
    assert label() == after


def test_the_namespace_gets_nothing_but_what_the_cell_says(kernel: Any) -> None:
    kernel.run("names = set(globals())")
    kernel.run("%%autograd\nalone = torch.ones(1)")
    new = kernel.value("sorted(n for n in set(globals()) - names if not n.startswith('_'))")
    assert new == ["alone", "names"]


def test_an_ordinary_cell_is_not_touched(kernel: Any) -> None:
    reply = kernel.run("torch._C._len_torch_function_stack()")
    assert reply.result is not None
    assert reply.result[1] == "0"


# What is displayed.


def test_widget_and_twin_are_displayed_and_the_twin_is_refreshed(kernel: Any) -> None:
    reply = kernel.run(
        "%%autograd --mode auto --into t\nw = torch.ones(3, requires_grad=True)\n"
        "l = (w * 2).sum()\nl.backward()\nw.grad.sum().item()"
    )
    assert reply.status == "ok"
    assert reply.result is not None
    assert reply.result[1] == "6.0"
    shown = reply.displays
    assert any("application/vnd.jupyter.widget-view+json" in out for out in shown), shown
    twins = [out for out in shown if "text/html" in out]
    assert twins[-1]["update"]
    assert "<svg" not in twins[-1]["text/html"]
    assert "w" in twins[-1]["text/plain"]
    assert not reply.text("stderr")
    _traced(kernel)


def test_html_mode_sends_no_widget(kernel: Any) -> None:
    reply = kernel.run(
        "%%autograd --mode html\nw = torch.ones(3, requires_grad=True)\nl = (w * 2).sum()"
    )
    assert not any("application/vnd.jupyter.widget-view+json" in o for o in reply.displays)
    assert any("text/html" in o for o in reply.displays)


def test_text_mode_prints_once(kernel: Any) -> None:
    reply = kernel.run(
        "%%autograd --mode text\nw = torch.ones(3, requires_grad=True)\nl = (w * 2).sum()"
    )
    assert not reply.displays
    assert "leaf" in reply.text("stdout")


def test_without_anywidget_html_and_one_note(kernel: Any) -> None:
    kernel.run("import sys\nkept = {n: m for n, m in sys.modules.items() if 'anywidget' in n}")
    kernel.run("sys.modules['anywidget'] = None")
    try:
        reply = kernel.run(
            "%%autograd --mode auto\nw = torch.ones(3, requires_grad=True)\nl = (w * 2).sum()"
        )
    finally:
        kernel.run("del sys.modules['anywidget']\nsys.modules.update(kept)")
    assert reply.status == "ok"
    assert reply.text("stderr").count("\n") == 1
    assert "static picture" in reply.text("stderr")
    assert any("text/html" in o for o in reply.displays)


def test_completion_by_message(kernel: Any) -> None:
    code = "%%autograd --mode te\nx = 1"
    reply = kernel.client.complete(
        code, cursor_pos=len("%%autograd --mode te"), reply=True, timeout=60
    )
    assert reply["content"]["matches"] == ["text"]
    reply = kernel.client.complete("%autograd sta", reply=True, timeout=60)
    assert "status" in reply["content"]["matches"]


def test_reload_inside_a_traced_cell(kernel: Any) -> None:
    reply = kernel.run(TRACED + "x = torch.ones(1)\n%reload_ext leafmagic\ny = x + 1\n")
    kernel.run("%config LeafMagic.mode = 'off'")
    assert reply.status == "ok", reply
    assert kernel.value("t.running") is False
    kernel.run(TRACED + "x = torch.ones(1)")
    _traced(kernel)


def test_a_script_that_awaits_is_refused_in_one_line(kernel: Any) -> None:
    cell = "import asyncio\\nawait asyncio.sleep(0)"
    reply = kernel.run(f"get_ipython().run_cell_magic('autograd', '', '{cell}')")
    assert reply.status == "error"
    assert not reply.errors
    assert "await" in reply.text("stderr")

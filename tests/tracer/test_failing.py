"""When the code raises, what was seen stays, and the place that failed is marked."""

from __future__ import annotations

from typing import Any

from tracing_kit import both, run_traced

import leafmagic


def marked(ran: Any) -> set[str]:
    """Return what is marked, by its name, or by its op where it has none."""
    return {node.name or node.op for node in ran.trace.graph.nodes if node.failed}


def test_nothing_is_marked_where_nothing_fails() -> None:
    ran = run_traced("w = torch.ones(3, requires_grad=True)\n(w * 2).sum().backward()\n")
    assert ran.error is None
    assert marked(ran) == set()


def test_the_tensors_that_an_op_was_given() -> None:
    plain, ran = both(
        "w = torch.ones(3, requires_grad=True)\n"
        "b = torch.ones(2, requires_grad=True)\n"
        "h = w * 2\n"
        "y = h.exp() @ torch.ones(4)\n"
    )
    assert str(plain.error) == str(ran.error)
    # It has no name, but is the result of an op that is drawn.
    assert {node.op for node in ran.trace.graph.nodes if node.failed} == {"exp"}


def test_the_named_ones_if_there_are_any() -> None:
    ran = run_traced(
        "w = torch.ones(3, requires_grad=True)\n"
        "other = torch.ones(2, requires_grad=True)\n"
        "h = w * 2\n"
        "y = torch.dot(h, other * 1)\n"
    )
    assert marked(ran) == {"h", "MulBackward0"}
    assert [n.line for n in ran.trace.graph.nodes if n.failed] == [3, 3]
    assert ran.node("w").failed is False


def test_a_layer() -> None:
    ran = run_traced(
        "net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(4, 1))\n"
        "x = torch.ones(5, 2)\n"
        "y = net(x)\n"
    )
    assert "shapes cannot be multiplied" in str(ran.error)
    # What the layer before it made goes by the name that the line gives.
    assert marked(ran) == {"net.2.weight", "net.2.bias", "y", "ReluBackward0"}


def test_the_root_of_a_pass() -> None:
    ran = run_traced(
        "w = torch.ones(3, requires_grad=True)\n"
        "early = (w * 2).sum()\n"
        "early.backward()\n"
        "loss = w * 3\n"
        "loss.backward()\n"
    )
    assert marked(ran) == {"loss", "MulBackward0"}
    assert {n.line for n in ran.trace.graph.nodes if n.failed} == {4}


def test_the_node_whose_saved_tensor_was_changed() -> None:
    ran = run_traced(
        "w = torch.ones(3, requires_grad=True)\n"
        "h = w * 2\n"
        "y = h.exp()\n"
        "z = y.sum()\n"
        "y.add_(1)\n"
        "z.backward()\n"
    )
    assert "modified by an inplace operation" in str(ran.error)
    assert "ExpBackward0" in marked(ran)
    assert "z" not in marked(ran)


def test_the_custom_function_whose_backward_raises() -> None:
    ran = run_traced(
        "class Bad(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x, fails):\n"
        "        ctx.fails = fails\n"
        "        return x * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad):\n"
        "        if ctx.fails:\n"
        "            raise ValueError('no way back')\n"
        "        return grad * 2, None\n"
        "w = torch.ones(3, requires_grad=True)\n"
        "first = Bad.apply(w, False)\n"
        "second = Bad.apply(first, True)\n"
        "third = Bad.apply(second, False)\n"
        "third.sum().backward()\n"
    )
    assert str(ran.error) == "no way back"
    (failed,) = [node for node in ran.trace.graph.nodes if node.failed]
    assert failed.name == "BadBackward"
    # The middle one of three.
    names = {node.id: node.name for node in ran.trace.graph.nodes}
    edges = ran.trace.graph.edges
    assert [names[edge.target] for edge in edges if edge.source == failed.id] == ["BadBackward"]
    assert [names[edge.source] for edge in edges if edge.target == failed.id] == ["BadBackward"]


def test_the_node_that_torch_names() -> None:
    text = (
        "class Bad(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        return x * 2\n"
        "    @staticmethod\n"
        "    def backward(ctx, grad):\n"
        "        return grad[:2]\n"
        "w = torch.ones(3, requires_grad=True)\n"
        "h = Bad.apply(w)\n"
        "loss = h.sum()\n"
        "loss.backward()\n"
    )
    ran = run_traced(text)
    assert "BadBackward" in str(ran.error)
    assert marked(ran) == {"BadBackward"}
    # Which of two is not said: what the pass began at.
    ran = run_traced(text.replace("loss = h.sum()", "loss = Bad.apply(h).sum()"))
    assert marked(ran) == {"loss", "SumBackward0"}


def test_an_error_that_was_caught_does_not_count() -> None:
    text = (
        "w = torch.ones(3, requires_grad=True)\n"
        "loss = w * 3\n"
        "try:\n"
        "    loss.backward()\n"
        "except RuntimeError as error:\n"
        "    caught = str(error)\n"
        "loss.sum().backward()\n"
    )
    ran = run_traced(text)
    assert ran.error is None
    assert marked(ran) == set()
    ran = run_traced(text + "later = w + 1\nraise ValueError('of another kind')\n")
    assert marked(ran) == set()


def test_an_interrupt_marks_the_newest_op_of_the_line() -> None:
    text = (
        "def stop():\n"
        "    raise KeyboardInterrupt\n"
        "w = torch.ones(3, requires_grad=True)\n"
        "for i in range(5):\n"
        "    h = w * 2\n"
        "    y = (h.exp(), i == 3 and WHAT, h)[0]\n"
        "    y.sum().backward()\n"
    )
    ran = run_traced(text.replace("WHAT", "next(iter([]))"))
    assert type(ran.error) is StopIteration
    assert marked(ran) == {"y", "ExpBackward0"}
    ran = run_traced(text.replace("WHAT", "h.register_hook(stop)"))
    assert type(ran.error) is not KeyboardInterrupt  # a hook of no arguments
    ran = run_traced(text.replace("WHAT", "stop()"))
    assert type(ran.error) is KeyboardInterrupt
    # The line that raised, inside the function, has no op.
    assert marked(ran) == set()
    assert ran.node("y").count == 4
    assert ran.trace.document()["status"]["steps"] == 3


def test_an_interrupt_in_backward_marks_the_root() -> None:
    ran = run_traced(
        "def stop(grad):\n"
        "    raise KeyboardInterrupt\n"
        "w = torch.ones(3, requires_grad=True)\n"
        "loss = (w * 2).sum()\n"
        "w.register_hook(stop)\n"
        "loss.backward()\n"
    )
    assert type(ran.error) is KeyboardInterrupt
    assert marked(ran) == {"loss", "SumBackward0"}


def test_in_a_loop_it_is_the_newest_round() -> None:
    ran = run_traced(
        "net = torch.nn.Linear(2, 1)\n"
        "for size in (2, 2, 2, 3):\n"
        "    x = torch.ones(4, size)\n"
        "    out = net(x)\n"
        "    out.sum().backward()\n"
    )
    assert marked(ran) == {"x", "net.weight", "net.bias"}
    assert ran.node("out").count == 3


def test_in_a_shell_and_in_what_is_saved(run_cell: Any, tmp_path: Any) -> None:
    run_cell("%load_ext leafmagic\nimport torch")
    run_cell(
        "%%autograd --mode text\n"
        "w = torch.ones(3, requires_grad=True)\n"
        "loss = w * 3\n"
        "loss.backward()",
        fails=True,
    )
    trace = leafmagic.last()
    assert {n.name for n in trace.graph.nodes if n.failed} == {"loss", "MulBackward0"}
    trace.save(str(tmp_path / "failed.json"))
    again = leafmagic.load(str(tmp_path / "failed.json"))
    assert {n.name for n in again.graph.nodes if n.failed} == {"loss", "MulBackward0"}


def test_a_trace_around_python_code() -> None:
    caught = None
    try:
        with leafmagic.trace() as trace:
            import torch

            w = torch.ones(3, requires_grad=True)
            loss = w * 3
            loss.backward()
    except RuntimeError as error:
        caught = str(error)
    assert caught is not None
    assert "loss" in {n.name for n in trace.graph.nodes if n.failed}

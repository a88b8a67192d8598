"""Twelve examples that a learner of autograd meets, each run in a real shell.

Every cell begins with ``%%autograd``, so its first statement is on line 2, as a notebook
numbers it. What a cell gets told is asserted word for word where a reader relies on the
word: the kind, the variable, the lines, the fix. A fix is then pasted and has to work.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

import leafmagic

GRADS = [float(n) for n in range(10)]


@dataclass
class Ran:
    """What came of one traced cell."""

    cell: str
    trace: Any
    value: Any
    printed: str
    shown: str
    error: BaseException | None
    names: dict[str, Any]

    @property
    def findings(self) -> tuple[Any, ...]:
        return tuple(self.trace.findings)

    @property
    def nodes(self) -> list[SimpleNamespace]:
        """The nodes as networkx has them."""
        graph = self.trace.graph.to_networkx()
        return [SimpleNamespace(id=i, **attributes) for i, attributes in graph.nodes(data=True)]

    @property
    def states(self) -> dict[str, str]:
        """Every variable and the state it is drawn in at the end."""
        tensors = {node.name for node in self.nodes if node.kind == "tensor" and node.name}
        return {name: self.trace.graph.named(name).state for name in sorted(tensors)}

    def node(self, name: str) -> Any:
        return self.trace.graph.named(name)

    def ops(self) -> list[tuple[str, int, str]]:
        return [(node.name, node.line, node.source) for node in self.nodes if node.kind == "op"]

    @property
    def notes(self) -> list[str]:
        return list(getattr(self.error, "__notes__", []))


Traced = Callable[..., Ran]


@pytest.fixture
def traced(shell: Any, run_cell: Any, capsys: Any) -> Traced:
    """Run code in a cell that begins with ``%%autograd``."""
    shell.extension_manager.load_extension("leafmagic")
    run_cell("import torch; torch.manual_seed(0);")

    def run(code: str, *, fails: bool = False, options: str = "--mode off") -> Ran:
        cell = f"%%autograd {options} --into trace\n{code.strip()}\n"
        capsys.readouterr()
        result = run_cell(cell, fails=fails)
        shown = capsys.readouterr().out
        # What IPython shows of Out[n] and of errors is not what the cell printed.
        printed = re.split(r"\n?(?:Out\[|-{70,})", shown)[0]
        names = shell.user_ns
        return Ran(cell, names["trace"], result.result, printed, shown, result.error_in_exec, names)

    return run


def pasted(ran: Ran, *findings: Any) -> str:
    """Return the cell's code as it is after every fix was put where it says."""
    lines = ran.cell.splitlines()
    for finding in sorted(findings, key=lambda f: f.line, reverse=True):
        after = re.search(r"# before backward, after line (\d+)$", finding.fix)
        line = lines[finding.line - 1]
        if after:
            lines.insert(int(after.group(1)), finding.fix)
        else:
            assert line.strip() == finding.source
            lines[finding.line - 1] = line.replace(finding.source, finding.fix)
    return "\n".join(lines[1:])


def told(finding: Any) -> tuple[Any, ...]:
    return (
        finding.kind,
        finding.code,
        finding.severity,
        finding.variable,
        finding.line,
        finding.symptom_line,
        finding.count,
    )


def gradient(ran: Ran, name: str) -> Any:
    return ran.names[name].grad.flatten().tolist()


# 1. A leaf, because nothing requires grad ----------------------------------------------


def test_1_without_requires_grad_everything_is_a_leaf(traced: Traced) -> None:
    ran = traced("x = torch.arange(10, dtype=torch.float32).reshape(10, 1)\nx.is_leaf")
    assert ran.value is True
    x = ran.node("x")
    assert (x.state, x.is_leaf, x.requires_grad, x.retains_grad) == (
        "frozen leaf",
        True,
        False,
        False,
    )
    assert (x.shape, x.dtype, x.device, x.version) == ((10, 1), "float32", "cpu", 0)
    assert (x.line, x.source) == (2, "torch.arange(10, dtype=torch.float32).reshape(10, 1)")
    assert x.grad_norm is None
    assert ran.ops() == []  # no grad_fn anywhere
    assert ran.findings == ()


# 2. The leaf that has no name -----------------------------------------------------------

HIDDEN = """
xx = torch.arange(10, dtype=torch.float32, requires_grad=True).reshape(10, 1)
ww = torch.arange(10, dtype=torch.float32, requires_grad=True).reshape(1, 10)
loss = ww @ xx
loss.backward()
xx.grad, ww.grad
"""


def test_2_an_op_behind_requires_grad_hides_the_leaf(traced: Traced) -> None:
    ran = traced(HIDDEN)
    assert ran.value == (None, None)
    assert ran.states == {"loss": "non-leaf", "ww": "non-leaf", "xx": "non-leaf"}
    for name, line in (("xx", 2), ("ww", 3)):
        node = ran.node(name)
        assert (node.is_leaf, node.requires_grad, node.line) == (False, True, line)
        assert node.grad_norm is None
    assert [told(f) for f in ran.findings] == [
        ("hidden_leaf", "LM102", "warning", "xx", 2, 6, 1),
        ("hidden_leaf", "LM102", "warning", "ww", 3, 6, 1),
    ]
    for finding in ran.findings:
        assert finding.cell == "Cell In[2]"
        assert f"`{finding.variable}` is the result of `reshape`, not a leaf" in finding.message
        assert (
            "the leaf is what `torch.arange(10, dtype=torch.float32, requires_grad=True)` makes"
            in finding.message
        )
    # The leaves that were meant: nameless, with the gradient, drawn at their own line.
    hidden = [n for n in ran.nodes if n.state == "leaf"]
    assert [(n.name, n.line, n.shape) for n in hidden] == [("", 2, (10,)), ("", 3, (10,))]
    assert all(n.grad_norm == pytest.approx(285**0.5) for n in hidden)


def test_2_the_fix_sets_the_flag_last(traced: Traced) -> None:
    wrong = traced(HIDDEN)
    assert [f.fix for f in wrong.findings] == [
        "xx = torch.arange(10, dtype=torch.float32).reshape(10, 1).requires_grad_()",
        "ww = torch.arange(10, dtype=torch.float32).reshape(1, 10).requires_grad_()",
    ]
    right = traced(pasted(wrong, *wrong.findings))
    assert right.findings == ()
    assert right.states == {"loss": "non-leaf", "ww": "leaf", "xx": "leaf"}
    assert gradient(right, "xx") == gradient(right, "ww") == GRADS


# 3. retain_grad keeps the gradient of a non-leaf ----------------------------------------


def test_3_retained_gradients_are_kept(traced: Traced) -> None:
    code = HIDDEN.replace("loss = ", "xx.retain_grad()\nww.retain_grad()\nloss = ")
    ran = traced(code)
    assert ran.findings == ()
    assert ran.states == {"loss": "non-leaf", "ww": "retained", "xx": "retained"}
    xx, ww = ran.value
    assert xx.shape == (10, 1)
    assert ww.shape == (1, 10)
    assert xx.flatten().tolist() == ww.flatten().tolist() == GRADS
    for name in ("xx", "ww"):
        node = ran.node(name)
        assert (node.is_leaf, node.retains_grad, node.has_grad) == (False, True, True)
        assert node.grad_norm == pytest.approx(285**0.5)


def test_3_the_option_retains_without_a_change_to_the_cell(traced: Traced) -> None:
    ran = traced(HIDDEN, options="--mode off --retain xx --retain ww")
    assert ran.findings == ()
    assert ran.states == {"loss": "non-leaf", "ww": "retained", "xx": "retained"}
    assert gradient(ran, "xx") == gradient(ran, "ww") == GRADS


# 4. An intermediate of a small network ---------------------------------------------------

NETWORK = """
x = torch.tensor([3.0])
a, b, c, d, e = (torch.tensor([2.0], requires_grad=True) for _ in range(5))
l1 = a * x
l2 = l1 + b
l3 = l2 * c
l4 = l3 * d
{look}
loss = (l4 * e).sum()
loss.backward()
"""
NETWORK_STATES = {
    **dict.fromkeys(("a", "b", "c", "d", "e"), "leaf"),
    "x": "frozen leaf",
    **dict.fromkeys(("l1", "l2", "l3", "l4", "loss"), "non-leaf"),
}


def test_4_retain_grad_keeps_an_intermediate_gradient(traced: Traced) -> None:
    ran = traced(NETWORK.format(look="l4.retain_grad()") + "l4.grad")
    assert ran.findings == ()
    assert ran.states == {**NETWORK_STATES, "l4": "retained"}
    assert ran.value.tolist() == [2.0]
    l4 = ran.node("l4")
    assert (l4.retains_grad, l4.has_grad, l4.grad_norm, l4.has_hooks) == (True, True, 2.0, False)
    assert ran.printed == ""
    assert {name: gradient(ran, name) for name in "abcde"} == {
        "a": [24.0],
        "b": [8.0],
        "c": [32.0],
        "d": [32.0],
        "e": [32.0],
    }


def test_4_a_hook_only_prints_the_gradient(traced: Traced) -> None:
    look = 'handle = l4.register_hook(lambda g: print("gradient of l4:", g))'
    ran = traced(NETWORK.format(look=look))
    assert ran.findings == ()
    assert ran.states == NETWORK_STATES
    assert ran.printed == "gradient of l4: tensor([2.])\n"
    l4 = ran.node("l4")
    assert (l4.has_hooks, l4.hooks) == (True, 1)
    assert (l4.retains_grad, l4.has_grad, l4.grad_norm) == (False, False, None)
    assert not any(ran.node(name).has_hooks for name in ("l1", "l2", "l3", "loss", "a"))


def test_4_the_hook_is_drawn_on_its_node(traced: Traced, tmp_path: Any) -> None:
    look = "handle = l4.register_hook(lambda g: None)"
    for name, line in (("hook", look), ("plain", "")):
        traced(NETWORK.format(look=line)).trace.save(tmp_path / f"{name}.svg")
    drawn, plain = ((tmp_path / f"{name}.svg").read_text() for name in ("hook", "plain"))
    assert drawn.count(">hook<") == 2  # on the node and in the legend
    assert "has a tensor hook" in drawn
    assert "has a tensor hook" not in plain


# 5. The same name, three tensors -----------------------------------------------------------

REBOUND = """
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([2.0], requires_grad=True)
c = torch.tensor([3.0], requires_grad=True)
print(a.is_leaf)
a = b + c
print(a.is_leaf)
a = a + 1
a.backward()
"""


def test_5_the_history_of_a_name(traced: Traced) -> None:
    ran = traced(REBOUND)
    assert ran.printed == "True\nFalse\n"
    assert ran.findings == ()
    was_a = [n for n in ran.nodes if n.kind == "tensor" and n.name == "a"]
    assert [(n.line, n.source, n.state, n.is_leaf) for n in was_a] == [
        (2, "torch.tensor([1.0], requires_grad=True)", "dead name", True),
        (6, "b + c", "non-leaf", False),  # from this line on `a` is not a leaf
        (8, "a + 1", "non-leaf", False),
    ]
    assert [[(b["name"], b["line"], b["current"]) for b in n.names] for n in was_a] == [
        [("a", 2, False)],
        [("a", 6, False)],
        [("a", 8, True)],
    ]
    assert ran.node("a").line == 8
    assert ran.states == {"a": "non-leaf", "b": "leaf", "c": "leaf"}
    assert gradient(ran, "b") == gradient(ran, "c") == [1.0]


def test_5_reading_the_gradient_names_the_leaves_that_have_it(traced: Traced) -> None:
    ran = traced(REBOUND + "a.grad")
    assert ran.value is None
    (finding,) = ran.findings
    assert told(finding) == ("nonleaf_grad_read", "LM101", "warning", "a", 8, 10, 1)
    assert "`b`" in finding.message
    assert "`c`" in finding.message
    right = traced(pasted(ran, finding))
    assert right.findings == ()
    assert right.value.tolist() == [1.0]


# 6. In place and out of place ----------------------------------------------------------------


def test_6_out_of_place_and_in_place_are_told_apart(traced: Traced) -> None:
    ran = traced("""
a = torch.tensor([1.0, 2.0])
b = torch.tensor([3.0, 4.0])
c = torch.tensor([5.0, 6.0])
before = c.data_ptr()
d = torch.add(a, b)
e = a.add(b)
c.add_(b)
print(c.data_ptr() == before, a.data_ptr() in (d.data_ptr(), e.data_ptr()))
print(a._version, c._version, c)
""")
    assert ran.printed == "True False\n0 1 tensor([ 8., 10.])\n"
    assert ran.findings == ()
    assert ran.states == dict.fromkeys("abcde", "frozen leaf")
    assert {name: ran.node(name).version for name in "abcde"} == {
        "a": 0,
        "b": 0,
        "c": 1,
        "d": 0,
        "e": 0,
    }
    made = {name: (ran.node(name).op, ran.node(name).line) for name in "cde"}
    assert made == {"c": ("tensor", 4), "d": ("add", 6), "e": ("add", 7)}
    assert {name: ran.node(name).writes for name in "abcde"} == {
        **dict.fromkeys("abde", ()),
        "c": (8,),
    }
    # One tensor has the name c: add_ made no new one.
    assert [n.name for n in ran.nodes].count("c") == 1


# 7. A tensor that backward needs is written in place -------------------------------------------

MUTATED = """
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w.sigmoid()
h.add_(1)
h.sum().backward()
"""


def test_7_the_op_that_saved_and_the_line_that_wrote(traced: Traced) -> None:
    ran = traced(MUTATED, fails=True)
    assert isinstance(ran.error, RuntimeError)
    assert "modified by an inplace operation" in str(ran.error)
    (finding,) = ran.findings
    assert told(finding) == ("saved_tensor_mutated", "LM202", "error", "h", 4, 5, 1)
    assert finding.source == "h.add_(1)"
    assert finding.message.startswith("SigmoidBackward0 (line 3) saved `h` as its result")
    assert "`add_` changed it in place at line 4" in finding.message
    assert "version 0 was saved, now it is version 1" in finding.message
    (note,) = ran.notes
    assert finding.message in note
    assert finding.fix in note
    h = ran.node("h")
    assert (h.state, h.version, h.writes) == ("non-leaf", 1, (4,))
    assert not ran.node("w").has_grad
    assert ("SigmoidBackward0", 3, "w.sigmoid()") in ran.ops()


def test_7_the_fix_works(traced: Traced) -> None:
    wrong = traced(MUTATED, fails=True)
    assert wrong.findings[0].fix == "h = h.add(1)"
    right = traced(pasted(wrong, *wrong.findings))
    assert right.findings == ()
    w = torch.tensor([1.0, 2.0])
    assert gradient(right, "w") == pytest.approx((w.sigmoid() * (1 - w.sigmoid())).tolist())


def test_7_the_same_write_is_right_where_backward_does_not_need_the_value(traced: Traced) -> None:
    ran = traced(MUTATED.replace("w.sigmoid()", "w + 3"))
    assert ran.findings == ()
    assert gradient(ran, "w") == [1.0, 1.0]


# 8. A leaf is written in place ------------------------------------------------------------------

LEAF_WRITES = [
    ("w.add_(1)", "`add_`", "with torch.no_grad(): w.add_(1)"),
    ("w += 1", "`add_`", "with torch.no_grad(): w += 1"),
    ("w[0] = 3.0", "assignment to its elements", "with torch.no_grad(): w[0] = 3.0"),
]


@pytest.mark.parametrize(("write", "says", "fix"), LEAF_WRITES)
def test_8_explained_where_torch_refuses(traced: Traced, write: str, says: str, fix: str) -> None:
    ran = traced(f"w = torch.tensor([1.0, 2.0], requires_grad=True)\n{write}", fails=True)
    assert isinstance(ran.error, RuntimeError)
    (finding,) = ran.findings
    assert told(finding) == ("leaf_inplace", "LM201", "error", "w", 3, 3, 1)
    assert says in finding.message
    assert finding.fix == fix
    (note,) = ran.notes
    assert finding.message in note
    assert (ran.node("w").state, ran.node("w").version) == ("leaf", 0)


@pytest.mark.parametrize(("write", "says", "fix"), LEAF_WRITES)
def test_8_the_fix_works(traced: Traced, write: str, says: str, fix: str) -> None:
    code = f"w = torch.tensor([1.0, 2.0], requires_grad=True)\n{write}"
    wrong = traced(code, fails=True)
    right = traced(pasted(wrong, *wrong.findings) + "\n(w * w).sum().backward()")
    assert right.findings == ()
    w = right.node("w")
    assert (w.state, w.version, w.writes) == ("leaf", 1, (3,))
    assert gradient(right, "w") == (2 * right.names["w"]).tolist()


def test_8_warned_about_before_torch_raises(traced: Traced) -> None:
    """A mode that was there first is asked after leafmagic and before torch refuses."""
    seen: list[tuple[str, int]] = []

    class Between(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if getattr(func, "__name__", "") == "add_":
                trace = leafmagic.last()
                assert trace is not None
                seen.extend((f.kind, f.line) for f in trace.findings)
            return func(*args, **(kwargs or {}))

    with Between():
        traced("w = torch.tensor([1.0, 2.0], requires_grad=True)\nw.add_(1)", fails=True)
    assert seen == [("leaf_inplace", 3)]


def test_8_warned_about_where_the_error_is_caught(traced: Traced) -> None:
    ran = traced("""
w = torch.tensor([1.0, 2.0], requires_grad=True)
try:
    w.add_(1)
except RuntimeError:
    print("caught")
""")
    assert ran.printed == "caught\n"
    (finding,) = ran.findings
    assert told(finding) == ("leaf_inplace", "LM201", "error", "w", 4, 4, 1)


# 9. Updates of a weight --------------------------------------------------------------------------

STEP = """
lr = 0.1
a = torch.tensor([1.0, 2.0], requires_grad=True)
(a * a).sum().backward()
{update}
"""
UPDATED = pytest.approx([1.2, 2.4])


@pytest.mark.parametrize(
    ("update", "fix"),
    [
        ("a = a + lr * a.grad", "with torch.no_grad(): a += lr * a.grad"),
        ("a = a.add(lr * a.grad)", "with torch.no_grad(): a.add_(lr * a.grad)"),
    ],
)
def test_9_an_update_that_rebinds_the_name(traced: Traced, update: str, fix: str) -> None:
    wrong = traced(STEP.format(update=update))
    (finding,) = wrong.findings
    assert told(finding) == ("leaf_rebound", "LM103", "warning", "a", 5, 5, 1)
    assert "`a` no longer names the leaf" in finding.message
    assert "is a non-leaf: the next backward will not fill `a.grad`" in finding.message
    assert finding.fix == fix
    was_a = [(n.line, n.state) for n in wrong.nodes if n.kind == "tensor" and n.name == "a"]
    assert was_a == [(3, "dead name"), (5, "non-leaf")]

    right = traced(pasted(wrong, finding))
    assert right.findings == ()
    a = right.node("a")
    assert (a.state, a.is_leaf, a.version, a.writes) == ("leaf", True, 1, (5,))
    assert right.names["a"].tolist() == UPDATED


@pytest.mark.parametrize("update", ["a = a + lr * a.grad", "a = a.add(lr * a.grad)"])
def test_9_the_second_step_fails_and_the_note_says_why(traced: Traced, update: str) -> None:
    loop = f"""
lr = 0.1
a = torch.tensor([1.0, 2.0], requires_grad=True)
for _ in range(2):
    (a * a).sum().backward()
    {update}
"""
    wrong = traced(loop, fails=True)
    assert isinstance(wrong.error, TypeError)
    (finding,) = wrong.findings
    assert (finding.kind, finding.variable, finding.line) == ("leaf_rebound", "a", 6)
    assert any("LM103" in note and "`a` no longer names the leaf" in note for note in wrong.notes)
    right = traced(pasted(wrong, finding))
    assert right.findings == ()
    assert right.node("a").state == "leaf"


def test_9_an_update_in_place_with_grad_mode_on(traced: Traced) -> None:
    wrong = traced(STEP.format(update="a.add_(lr * a.grad)"), fails=True)
    (finding,) = wrong.findings
    assert told(finding) == ("leaf_inplace", "LM201", "error", "a", 5, 5, 1)
    assert "torch refuses" in finding.message
    assert finding.fix == "with torch.no_grad(): a.add_(lr * a.grad)"
    right = traced(pasted(wrong, finding))
    assert right.findings == ()
    assert right.names["a"].tolist() == UPDATED


@pytest.mark.parametrize(
    "update",
    [
        "a.data.add_(lr * a.grad)",
        "a.data = a.data + lr * a.grad",
        "with torch.no_grad():\n    a += lr * a.grad",
    ],
)
def test_9_right_updates_are_quiet(traced: Traced, update: str) -> None:
    ran = traced(STEP.format(update=update) + "\na.grad = None\n(a * a).sum().backward()\na.grad")
    assert ran.findings == ()
    a = ran.node("a")
    assert (a.state, a.is_leaf, a.requires_grad, a.line) == ("leaf", True, True, 3)
    assert ran.names["a"].tolist() == UPDATED
    assert ran.value.tolist() == pytest.approx([2.4, 4.8])
    assert "dead name" not in {n.state for n in ran.nodes}


# 10. requires_grad is not a method -----------------------------------------------------------------


def test_10_calling_the_flag(traced: Traced) -> None:
    wrong = traced("a = torch.tensor([1.0, 2.0])\na.requires_grad()", fails=True)
    assert isinstance(wrong.error, TypeError)
    assert str(wrong.error) == "'bool' object is not callable"
    (finding,) = wrong.findings
    assert told(finding) == ("requires_grad_flag", "LM301", "error", "a", 3, 3, 1)
    assert "is a bool, not a method" in finding.message
    assert "requires_grad_()" in finding.message
    assert finding.fix == "a.requires_grad_()"
    (note,) = wrong.notes
    assert finding.message in note
    assert wrong.node("a").state == "frozen leaf"

    right = traced(pasted(wrong, finding))
    assert right.findings == ()
    assert right.node("a").state == "leaf"


@pytest.mark.parametrize(
    ("calls", "state"),
    [
        ("a.requires_grad_()", "leaf"),
        ("a.requires_grad_()\na.requires_grad_(False)", "frozen leaf"),
        ("a.requires_grad_()\na.requires_grad_(False)\na.requires_grad_()", "leaf"),
    ],
)
def test_10_the_state_after_each_call(traced: Traced, calls: str, state: str) -> None:
    ran = traced(f"a = torch.tensor([1.0, 2.0])\n{calls}\nprint(a.requires_grad, a.is_leaf)")
    assert ran.findings == ()
    a = ran.node("a")
    assert (a.state, a.is_leaf, a.requires_grad) == (state, True, state == "leaf")
    assert ran.printed == f"{state == 'leaf'} True\n"


# 11. One leaf and what was computed from it ----------------------------------------------------------

CHAIN = """
a = torch.rand(3, 5, requires_grad=True)
b = a.mean()
c = b * 20200910.0
d = c * 15.0
d.retain_grad()
e = 2 * (d + 55.0)
f = e / 2.0 + 89.2
f.backward()
[t.is_leaf for t in (a, b, c, d, e, f)]
"""


def test_11_states_and_values(traced: Traced) -> None:
    ran = traced(CHAIN)
    assert ran.value == [True, False, False, False, False, False]
    assert ran.findings == ()
    assert ran.states == {
        "a": "leaf",
        **dict.fromkeys("bcef", "non-leaf"),
        "d": "retained",
    }
    grad = ran.names["a"].grad
    assert grad.dtype == torch.float32
    assert grad.shape == (3, 5)
    assert set(grad.flatten().tolist()) == {20200910.0}
    assert ran.names["d"].grad.item() == 1.0
    assert ran.node("d").grad_norm == 1.0
    assert ran.node("a").grad_norm == pytest.approx(20200910.0 * 15**0.5, rel=1e-6)
    assert [ran.node(n).grad_norm for n in "bcef"] == [None] * 4
    assert [(name, line) for name, line, _ in ran.ops()] == [
        ("MeanBackward0", 3),
        ("MulBackward0", 4),
        ("MulBackward0", 5),
        ("AddBackward0", 7),
        ("MulBackward0", 7),
        ("DivBackward0", 8),
        ("AddBackward0", 8),
    ]


def test_11_the_reads_that_give_none_are_told(traced: Traced) -> None:
    code = CHAIN + "print(a.grad is None, d.grad)\nprint(b.grad, c.grad, e.grad, f.grad)"
    ran = traced(code)
    assert ran.printed == "False tensor(1.)\nNone None None None\n"
    assert [told(f) for f in ran.findings] == [
        ("nonleaf_grad_read", "LM101", "warning", "b", 3, 12, 1),
        ("nonleaf_grad_read", "LM101", "warning", "c", 4, 12, 1),
        ("nonleaf_grad_read", "LM101", "warning", "e", 7, 12, 1),
        ("nonleaf_grad_read", "LM101", "warning", "f", 8, 12, 1),
    ]
    for finding in ran.findings:
        assert "`a`" in finding.message  # the leaf that has a gradient
        assert finding.fix.startswith(f"{finding.variable}.retain_grad()")
    right = traced(pasted(ran, *ran.findings))
    assert right.findings == ()
    assert {n: right.states[n] for n in "abcdef"} == {
        "a": "leaf",
        **dict.fromkeys("bcdef", "retained"),
    }
    grad_of_b = (torch.tensor(20200910.0) * 15.0).item()  # rounded as float32 rounds
    expected = {"b": grad_of_b, "c": 15.0, "d": 1.0, "e": 0.5, "f": 1.0}
    assert {n: right.names[n].grad.item() for n in "bcdef"} == expected


# 12. is_leaf of every kind of tensor -------------------------------------------------------------------


def test_12_every_kind_of_tensor(traced: Traced) -> None:
    ran = traced("""
made = torch.ones(2, 2)
weight = torch.ones(2, 2, requires_grad=True)
computed = weight * 2
detached = computed.detach()
param = torch.nn.Parameter(torch.ones(2, 2))
with torch.no_grad():
    view = weight.view(4)
{t: globals()[t].is_leaf for t in ("made", "weight", "computed", "detached", "param", "view")}
""")
    assert ran.value == {
        "made": True,
        "weight": True,
        "computed": False,
        "detached": True,
        "param": True,
        "view": True,
    }
    assert ran.states == {
        "made": "frozen leaf",
        "weight": "leaf",
        "computed": "non-leaf",
        "detached": "constant",
        "param": "leaf",
        "view": "phantom leaf",
    }
    assert {n: (ran.node(n).is_leaf, ran.node(n).requires_grad) for n in ran.states} == {
        "made": (True, False),
        "weight": (True, True),
        "computed": (False, True),
        "detached": (True, False),
        "param": (True, True),
        "view": (True, True),  # and yet it never gets a gradient
    }
    assert ran.node("param").source == "torch.nn.Parameter(torch.ones(2, 2))"
    assert ran.node("view").base == ran.node("weight").id
    assert ran.findings == ()


# What is printed ------------------------------------------------------------------------------------------


def test_the_text_says_it_in_the_words_of_the_cell(traced: Traced) -> None:
    ran = traced(HIDDEN, options="--mode text")
    for words in (
        "warning: `xx` is the result of `reshape`, not a leaf",
        "Cell In[2], line 2, noticed at line 6",
        "^^^^",
        "fix: xx = torch.arange(10, dtype=torch.float32).reshape(10, 1).requires_grad_()",
        "loss = ww @ xx  non-leaf",
    ):
        assert words in ran.shown, ran.shown

"""What is measured of gradients over the steps of a loop, and what is made of it."""

from __future__ import annotations

import gc
import math
import re
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from tracing_kit import Ran, both, check_well, run_traced

import leafmagic
from leafmagic import meters
from leafmagic.meters import Meter
from leafmagic.readout import BINS, Readout
from leafmagic.recording import Trace
from leafmagic.render.payload import build_payload
from leafmagic.render.svg import render_svg
from leafmagic.render.training import progress_line
from leafmagic.render.words import tensor_rows
from leafmagic.training import LONGEST_CURVE, curve_of
from leafmagic.trends import Root

CREDIT_S = meters._CREDIT_S


@pytest.fixture(autouse=True)
def _measured_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have short loops measured in full, however slow the machine is."""
    monkeypatch.setattr(meters, "_CREDIT_S", 10.0)


NET = """
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(16, 4), torch.randn(16, 1)
"""
LOOP = (
    NET
    + """
for step in range(7):
    opt.zero_grad()
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    opt.step()
"""
)


def training(ran: Ran) -> dict[str, Any]:
    found: dict[str, Any] = ran.trace.document()["training"]
    return found


def check_numbers(stats: Any, grad: torch.Tensor) -> None:
    assert stats.norm == pytest.approx(float(grad.norm()), rel=1e-5)
    assert stats.max == pytest.approx(float(grad.abs().max()), rel=1e-5)
    assert stats.mean == pytest.approx(float(grad.mean()), rel=1e-4, abs=1e-7)
    assert stats.zeros == pytest.approx(float((grad == 0).float().mean()))
    assert (stats.bad, stats.size) == (0, grad.numel())


def test_numbers_are_those_of_the_gradients() -> None:
    ran = run_traced(NET + "h = net(x).relu()\nh.retain_grad()\nloss = h.sum()\nloss.backward()")
    check_well(ran)
    for name, parameter in ran.ns["net"].named_parameters():
        check_numbers(ran.node(f"net.{name}").stats, parameter.grad)
    check_numbers(ran.node("h").stats, ran.ns["h"].grad)
    (op,) = [
        n
        for n in ran.trace.graph.nodes
        if n.name == "ReluBackward0" and n.source == "net(x).relu()"
    ]
    assert op.stats == ran.node("h").stats
    assert ran.node("loss").stats.norm == 1


def test_every_node_is_measured_in_every_step_of_a_loop() -> None:
    ran = run_traced(LOOP, grads="norm")
    check_well(ran)
    ops = [node for node in ran.trace.graph.nodes if node.kind == "op"]
    assert len(ops) >= 7
    assert {node.stats.step for node in ops} == {7}
    assert {len(node.trend) for node in ops} == {7}
    assert training(ran)["sampled"]["passes"] == training(ran)["sampled"]["of"] == 7


def test_results_are_the_same_bit_for_bit() -> None:
    for options in ({"grads": "norm", "histogram": True}, {"grads": "off"}, {}):
        plain, traced = both(LOOP, **options)
        check_well(traced)
        pairs = zip(plain.ns["net"].parameters(), traced.ns["net"].parameters(), strict=True)
        assert all(torch.equal(a, b) and torch.equal(a.grad, b.grad) for a, b in pairs)


def test_the_update_of_a_step_is_told_in_terms_of_the_weights() -> None:
    text = """
w = torch.full((5000,), 2.0, requires_grad=True)
for step in range(4):
    (w * 3).sum().backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""
    ran = run_traced(text, grads="norm")
    expected = [0.3 / value for value in (2.0, 1.7, 1.4, 1.1)]
    assert ran.trace.history("w")["update"] == pytest.approx(expected, rel=1e-4)
    assert ran.node("w").stats.update == pytest.approx(expected[-1], rel=1e-4)


def test_an_update_that_has_not_come_yet_is_not_told() -> None:
    ran = run_traced("w = torch.ones(3, requires_grad=True)\n(w * 2).sum().backward()")
    assert ran.node("w").stats.update is None
    assert math.isnan(ran.trace.history("w")["update"][0])


def test_gradients_that_add_up_are_counted() -> None:
    text = (
        NET
        + """
opt.zero_grad()
for part in range(3):
    net(x).sum().backward()
"""
    )
    node = run_traced(text).node("net.0.weight")
    assert (node.passes, node.grad_state, node.cleared_line) == (3, "fresh", None)
    node = run_traced(text + "opt.step()\n").node("net.0.weight")
    assert (node.passes, node.grad_state, node.stepped_line) == (3, "used", 10)
    node = run_traced(text + "opt.step()\nopt.zero_grad()\n").node("net.0.weight")
    assert (node.passes, node.grad_state, node.cleared_line) == (0, "cleared", 11)


FOLDS = {
    "one model after the other": (
        """def fit(m, n):
    opt = torch.optim.SGD(m.parameters(), lr=0.01)
    for i in range(n):
        for _ in range(3):
            (m(x).pow(2).mean() / 3).backward()
        opt.step()
        if i < n - 1:
            opt.zero_grad()
a, b = torch.nn.Linear(4, 1), torch.nn.Linear(4, 1)
fit(a, 5)
fit(b, 5)
""",
        ("a.weight", "b.bias"),
    ),
    "a model for each fold": (
        """for fold in range(3):
    m = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(m.parameters(), lr=0.01)
    for i in range(4):
        opt.zero_grad()
        for _ in range(3):
            m(x).pow(2).mean().backward()
        opt.step()
""",
        ("m.weight", "m.bias"),
    ),
    "a model made in a function": (
        """def train():
    m = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(m.parameters(), lr=0.01)
    for i in range(4):
        opt.zero_grad()
        for _ in range(3):
            m(x).pow(2).mean().backward()
        opt.step()
    return m
a = train()
b = train()
""",
        ("b.weight", "b.bias"),
    ),
    "a leaf for each fold": (
        """for fold in range(3):
    w = torch.randn(4, 1, requires_grad=True)
    for i in range(4):
        w.grad = None
        for _ in range(3):
            (x @ w).pow(2).mean().backward()
        w.data -= 0.1 * w.grad
""",
        ("w",),
    ),
}


@pytest.mark.parametrize("kind", FOLDS)
def test_gradients_of_leaves_that_vary_are_counted_or_said_to_be_unknown(kind: str) -> None:
    body, names = FOLDS[kind]
    for grads in ("norm", "auto", "off"):
        ran = run_traced("x = torch.randn(8, 4)\n" + body, grads=grads)
        check_well(ran)
        told = {row["name"]: row["passes"] for row in training(ran)["parameters"]}
        expected = None if grads == "off" or kind == "a leaf for each fold" else 3
        assert [told[name] for name in names] == [expected] * len(names)
        assert [ran.node(name).passes for name in names] == [expected] * len(names)


def test_a_pass_for_others_leaves_the_newest_update_known() -> None:
    text = """d, g = torch.nn.Linear(2, 1), torch.nn.Linear(2, 2)
opt_d, opt_g = (torch.optim.SGD(m.parameters(), lr=0.1) for m in (d, g))
for step in range(3):
    opt_d.zero_grad()
    d(g(torch.ones(4, 2)).detach()).pow(2).mean().backward()
    opt_d.step()
    opt_g.zero_grad()
    d(g(torch.ones(4, 2))).mean().backward()
    opt_g.step()
"""
    ran = run_traced(text, grads="norm")
    check_well(ran)
    assert all(row["update"] > 0 for row in training(ran)["parameters"])
    updates = ran.trace.history("d.weight")["update"]
    assert [math.isnan(update) for update in updates] == [False, True] * 3


def test_the_node_where_a_gradient_breaks_in_the_midst_of_a_loop_is_marked() -> None:
    text = """
w = torch.tensor([9.0, 1.0], requires_grad=True)
for step in range(12):
    w.grad = None
    scaled = w * 2
    root = scaled.sqrt()
    loss = root.sum()
    loss.backward()
    with torch.no_grad():
        w -= torch.tensor([0.0, 0.125])
"""
    ran = run_traced(text, grads="norm")
    marked = [(n.name, n.line, n.breaks) for n in ran.trace.graph.nodes if n.breaks]
    assert marked == [("SqrtBackward0", 6, "inf")]
    assert "LM901" in {finding.code for finding in ran.trace.findings}
    assert ran.trace.history("w")["bad"][:8].tolist() == [0] * 8
    assert ran.trace.history("w")["bad"][8] == 1


def test_a_gradient_that_was_broken_before_blames_nobody() -> None:
    text = """
w = torch.ones(2, requires_grad=True)
w.grad = torch.tensor([float("nan"), 0.0])
(w * 2).sum().backward()
"""
    ran = run_traced(text)
    assert [n for n in ran.trace.graph.nodes if n.breaks] == []
    assert ran.node("w").stats.bad == 1


def test_a_loss_that_is_no_number_already_blames_no_node_of_the_way_back() -> None:
    text = """
w = torch.ones(3, requires_grad=True)
for step in range(4):
    scale = float("nan") if step == 3 else 1.0
    h = (w * scale).exp()
    loss = (h * 2).sum()
    loss.backward()
"""
    ran = run_traced(text, grads="norm")
    marked = {(n.name, n.line) for n in ran.trace.graph.nodes if n.breaks}
    assert marked <= {("MulBackward0", 5)}


DIVERGES = """
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
opt = torch.optim.SGD(net.parameters(), lr=RATE)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
for step in range(STEPS):
    loss = LOSS
    opt.zero_grad()
    loss.backward()
    opt.step()
    if STOP and not loss.isfinite():
        break
"""


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("grads", ["auto", "norm"])
@pytest.mark.parametrize(
    ("loss", "rate", "name"),
    [
        ("((net(x) - y) ** 2).mean()", 3.0, "AddmmBackward0"),
        ("((net(x) - y) ** 2).mean()", 1.0, "PowBackward0"),
        ("(net(x) - y).pow(2).sum(1).mean()", 1.0, "PowBackward0"),
        ("torch.nn.functional.mse_loss(net(x), y)", 1.0, "MseLossBackward0"),
    ],
)
def test_a_loss_that_grows_without_bound_marks_what_overflowed(
    loss: str, rate: float, name: str, grads: Any, *, stop: bool
) -> None:
    text = DIVERGES.replace("LOSS", loss).replace("RATE", str(rate))
    text = text.replace("STOP", str(stop)).replace("STEPS", "40")
    ran = run_traced(text, grads=grads)
    marked = [(n.name, n.line, n.breaks) for n in ran.trace.graph.nodes if n.breaks]
    assert marked == [(name, 8, "inf")]
    (found,) = ran.trace.findings
    assert (found.code, found.line) == ("LM901", 8)
    (first, *_) = [
        int(s) for s, v in zip(*steps_of(ran, "loss"), strict=True) if not math.isfinite(v)
    ]
    assert f"from step {first} on" in found.message
    assert "learning rate" in found.fix


def steps_of(ran: Ran, name: str) -> tuple[list[float], list[float]]:
    history = ran.trace.history(name)
    return history["step"].tolist(), history["value"].tolist()


MEETS = """
torch.manual_seed(0)
net = torch.nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=1e-3)
data = torch.randn(10, 16, 4)
for step in range(10):
    out = net(data[step])
    target = out.detach().clone() if step == 5 else torch.zeros(16, 3)
    dist = (out - target).pow(2).sum(1).sqrt()
    loss = dist.mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if STOP and step == 5:
        break
"""


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("grads", ["auto", "norm"])
def test_a_gradient_that_breaks_in_a_later_step_is_told_with_its_cause(
    grads: Any, *, stop: bool
) -> None:
    ran = run_traced(MEETS.replace("STOP", str(stop)), grads=grads)
    (found,) = ran.trace.findings
    assert (found.code, found.line) == ("LM901", 9)
    assert "the derivative of sqrt at 0 is infinite (16 elements)" in found.message
    assert "negative" not in found.message
    marked = [(n.name, n.line, n.breaks) for n in ran.trace.graph.nodes if n.breaks]
    assert marked == [("SqrtBackward0", 9, "inf")]


@pytest.mark.parametrize("op", ["sqrt", "rsqrt"])
def test_weights_that_are_no_numbers_blame_no_function(op: str) -> None:
    text = f"""
w = torch.tensor([float("nan"), 1.0], requires_grad=True)
loss = (w + 2).{op}().sum()
loss.backward()
"""
    ran = run_traced(text)
    assert [n for n in ran.trace.graph.nodes if n.breaks] == []
    assert not ran.trace.findings


@pytest.mark.parametrize("broke", [1, 5, 150, 900, 3_000])
def test_a_curve_shows_where_it_broke_however_long_ago(broke: int) -> None:
    root = Root(1)
    for step in range(1, 3_001):
        root.add(1.0 / step if step < broke else math.inf if step == broke else math.nan, step)
    curve = curve_of(root)
    steps = [step for step, _ in curve]
    assert steps == sorted(set(steps))
    assert len(curve) <= LONGEST_CURVE
    assert [broke, "inf"] in curve
    assert {step for step in range(broke - 31, broke) if step > 0} <= set(steps)
    assert len(root.rows()) < 600


def test_each_place_of_backward_is_a_root_of_its_own() -> None:
    text = """
d = torch.nn.Linear(3, 1)
g = torch.nn.Linear(2, 3)
for step in range(5):
    d.zero_grad()
    loss_d = d(torch.randn(4, 3)).mean() + d(g(torch.randn(4, 2)).detach()).pow(2).mean()
    loss_d.backward()
    g.zero_grad()
    loss_g = -d(g(torch.randn(4, 2))).mean()
    loss_g.backward()
"""
    ran = run_traced(text)
    check_well(ran)
    roots = training(ran)["roots"]
    assert [(r["name"], r["line"], r["steps"]) for r in roots] == [
        ("loss_d", 7, 5),
        ("loss_g", 10, 5),
    ]
    assert training(ran)["steps"] == 5
    names = [{ran.trace.graph.node(i).name for i in root["nodes"]} for root in roots]
    assert {"d.weight", "loss_d"} <= names[0]
    assert {"d.weight", "g.weight", "loss_g"} <= names[1]
    assert "g.weight" not in names[0]
    assert roots[0]["last"] == pytest.approx(ran.ns["loss_d"].item())
    assert [step for step, _ in roots[1]["curve"]] == [1, 2, 3, 4, 5]


def test_parameters_are_listed_with_what_became_of_them() -> None:
    text = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.spare = torch.nn.Linear(3, 3), torch.nn.Linear(3, 2)
        self.head = torch.nn.Linear(3, 1)
        self.body.weight.requires_grad_(False)
    def forward(self, x):
        return self.head(self.body(x))
net = Net()
net(torch.randn(2, 3)).sum().backward()
"""
    table = {row["name"]: row for row in training(run_traced(text))["parameters"]}
    assert list(table) == [
        f"net.{part}.{name}" for part in ("body", "spare", "head") for name in ("weight", "bias")
    ]
    states = [row["state"] for row in table.values()]
    assert states == ["frozen", "trained", "never reached", "never reached", "trained", "trained"]
    assert table["net.spare.weight"]["shape"] == [2, 3]
    assert table["net.head.weight"]["norm"] > 0


LEFT = """
w = torch.ones(3, requires_grad=True)
b_left = torch.ones(1, requires_grad=True)
m, other = torch.nn.Linear(3, 1), torch.nn.Linear(2, 2)
group = torch.ones(2, requires_grad=True)
spare = torch.ones(2, requires_grad=True)
opt = torch.optim.SGD([*m.parameters(), group, *other.parameters()], lr=0.1)
"""


@pytest.mark.parametrize(
    ("use", "more"),
    [
        ("m(torch.ones(2, 3)).sum().backward()", set()),
        ("m(torch.ones(2, 3)).sum().backward()\n    opt.step()",
         {"group", "other.weight", "other.bias"}),
        ("(m(torch.ones(2, 3)) * w.detach()).sum().backward()", {"w"}),
        ("new = torch.ones(2, requires_grad=True)\n    m(torch.ones(2, 3)).sum().backward()",
         {"new"}),
        ("spare.grad = None\n    m(torch.ones(2, 3)).sum().backward()", {"spare"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "given", ["m.parameters()", "[*m.parameters(), group, *other.parameters()]"]
)
def test_what_other_cells_left_behind_is_not_listed(use: str, more: set[str], given: str) -> None:
    before = run_traced(LEFT.replace("[*m.parameters(), group, *other.parameters()]", given))
    ran = run_traced(f"for i in range(3):\n    {use}", before.ns)
    names = {row["name"] for row in training(ran)["parameters"]}
    if given == "m.parameters()":
        more = more - {"group", "other.weight", "other.bias"}
    assert names == {"m.weight", "m.bias"} | more


PARTS = """
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))
x = torch.randn(2, 3)
net(x).sum().backward()
"""


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("grads", ["auto", "off"])
def test_a_gradient_that_an_earlier_cell_left_trains_nothing(*, traced: bool, grads: Any) -> None:
    ns: dict[str, Any] = {"torch": torch}
    if traced:
        run_traced(PARTS, ns)
    else:
        exec(PARTS, ns)
    ran = run_traced(
        """
opt = torch.optim.SGD(net[1].parameters(), lr=0.1)
features = net[0](x).relu().detach()
for step in range(5):
    opt.zero_grad()
    loss = net[1](features).pow(2).mean()
    loss.backward()
    opt.step()
""",
        ns,
        grads=grads,
    )
    table = {
        row["name"]: (row["state"], row["norm"] is None) for row in training(ran)["parameters"]
    }
    assert table["net.0.weight"] == table["net.0.bias"] == ("never reached", True)
    assert table["net.1.weight"][0] == table["net.1.bias"][0] == "trained"


def test_a_gradient_that_was_added_to_is_not_an_old_one() -> None:
    ns: dict[str, Any] = {"torch": torch}
    exec(PARTS, ns)
    ran = run_traced(
        """
from torch.utils.checkpoint import checkpoint
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x.requires_grad_()
for step in range(5):
    loss = net[1](checkpoint(net[0], x, use_reentrant=True)).pow(2).mean()
    loss.backward()
    opt.step()
""",
        ns,
    )
    assert {row["state"] for row in training(ran)["parameters"]} == {"trained"}
    assert not {"LM403", "LM411"} & {finding.code for finding in ran.trace.findings}


def test_steps_and_histories_are_kept_with_a_saved_trace(tmp_path: Path) -> None:
    ran = run_traced(LOOP, grads="norm")
    trace = ran.trace
    trace.save(tmp_path / "loop.json")
    for one in (trace, leafmagic.load(tmp_path / "loop.json")):
        assert isinstance(one, Trace)
        assert (one.steps.count, len(one.steps)) == (7, 7)
        assert [step.step for step in one.steps] == [1, 2, 3, 4, 5, 6, 7]
        assert (one.steps[-1].name, one.steps[-1].line) == ("loss", 10)
        assert one.steps[-1].value == pytest.approx(ran.ns["loss"].item())
        assert one.history("loss")["value"][-1] == one.steps[-1].value
        assert one.history("net.0.weight")["step"].tolist() == [1, 2, 3, 4, 5, 6, 7]
        table = one.to_dataframe()
        assert list(table.columns[:3]) == ["name", "step", "norm"]
        assert len(table) == 4 * 7
        with pytest.raises(KeyError, match=r"net\.0\.weight"):
            one.history("nothing")


def test_histories_of_one_name_are_joined_in_the_order_in_which_they_ran() -> None:
    text = """x = torch.randn(8, 4)
for fold in range(5):
    model = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(10):
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        opt.step()
model = torch.nn.Linear(2, 1)
for step in range(3):
    loss = model(torch.ones(2, 2)).mean()
    loss.backward()
"""
    ran = run_traced(text, grads="norm")
    check_well(ran)
    table = ran.trace.to_dataframe()
    count = table.groupby("name").norm.count().to_dict()
    assert count["model.weight [1, 4]"] == 50
    assert (count["model.bias"], count["model.weight"]) == (53, 3)
    bias = ran.trace.history("model.bias")
    assert bias["order"].tolist() == list(range(1, 54))
    assert bias["step"].tolist() == [*range(1, 51), 1, 2, 3]
    assert bias["line"].tolist() == [8.0] * 50 + [13.0] * 3
    loss = ran.trace.history("loss")
    assert loss["line"].tolist() == bias["line"].tolist()
    assert loss["step"].tolist() == bias["step"].tolist()
    assert loss["value"][-1] == pytest.approx(ran.ns["loss"].item())


def test_rows_of_two_losses_can_be_told_apart() -> None:
    text = """w = torch.ones(3, requires_grad=True)
for step in range(4):
    a = (w * 2).sum()
    a.backward()
    b = (w * 5).sum()
    b.backward()
    w.grad = None
"""
    table = run_traced(text, grads="norm").trace.to_dataframe()
    assert table.line.tolist() == [4, 6] * 4
    assert table.order.tolist() == list(range(1, 9))
    assert table.groupby("line").norm.first().to_dict() == pytest.approx(
        {4: math.sqrt(12), 6: math.sqrt(147)}
    )


def test_a_trace_without_a_pass_has_no_steps() -> None:
    trace = run_traced("w = torch.ones(3, requires_grad=True)\nh = w * 2").trace
    assert (trace.steps.count, list(trace.steps)) == (0, [])
    assert trace.document()["training"] == {}
    assert len(trace.to_dataframe()) == 0
    with pytest.raises(KeyError, match="there is nothing"):
        trace.history("w")


def test_what_autograd_grad_returns_is_measured_too() -> None:
    text = """
w = torch.ones(3, requires_grad=True)
for step in range(3):
    g, = torch.autograd.grad((w * 5).sum(), w)
"""
    ran = run_traced(text, grads="norm")
    check_well(ran)
    assert ran.node("w").stats.norm == pytest.approx(5 * 3**0.5)
    assert ran.trace.steps.count == 3


def test_odd_gradients_are_measured_or_left_out() -> None:
    text = """
emb = torch.nn.Embedding(10, 3, sparse=True)
half = torch.ones(4, dtype=torch.bfloat16, requires_grad=True)
wave = torch.ones(3, dtype=torch.complex64, requires_grad=True)
none = torch.ones(0, requires_grad=True)
loss = emb(torch.tensor([1, 2])).sum() + half.sum() + wave.abs().sum()
(loss + none.sum()).backward()
"""
    ran = run_traced(text, histogram=True)
    check_well(ran)
    assert ran.node("emb.weight").stats is None
    assert ran.node("half").stats.norm == 2
    assert ran.node("wave").stats.zeros == pytest.approx(0.5)  # the imaginary parts
    assert ran.node("wave").stats.bad == 0


def test_a_norm_that_is_too_large_for_its_type_is_no_broken_gradient() -> None:
    text = "w = torch.ones(4, requires_grad=True)\n((w * 1e20).sum() * 1e18).backward()"
    ran = run_traced(text)
    assert ran.node("w").stats.norm == pytest.approx(2e38, rel=1e-5)
    assert (ran.node("w").stats.bad, ran.node("w").breaks) == (0, "")
    assert ran.trace.findings == ()


def test_a_histogram_counts_elements_by_their_power_of_ten() -> None:
    text = """
scale = torch.tensor([0.0, 1e-12, 2e-3, 5e-3, 1.0, 3.0, 20.0, 5e6])
w = torch.ones(8, requires_grad=True)
(w * scale).sum().backward()
"""
    histogram = run_traced(text, histogram=True).node("w").stats.histogram
    assert len(histogram) == BINS == 12
    assert histogram == (1, 0, 0, 0, 0, 2, 0, 0, 2, 1, 0, 1)
    assert run_traced(text).node("w").stats.histogram == ()


def test_a_pass_is_fetched_in_one_transfer_for_each_device(monkeypatch: pytest.MonkeyPatch) -> None:
    readouts: list[Readout] = []
    begin = Readout.begin
    monkeypatch.setattr(Readout, "begin", lambda r, root: (readouts.append(r), begin(r, root))[1])
    ran = run_traced(LOOP, grads="norm", histogram=True)
    check_well(ran)
    assert len(set(map(id, readouts))) == 1
    # One for each pass, and one at the end for the last update.
    assert readouts[0].transfers == 8


def test_the_share_decides_how_many_passes_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(meters, "_CREDIT_S", CREDIT_S)
    monkeypatch.setattr("leafmagic.meters.time.perf_counter", lambda: now)
    meter = Meter(None, None)  # type: ignore[arg-type]
    assert meter.share == 0.02  # the default
    meter.share = 0.05
    measured = 0
    for _ in range(1_000):
        if meter.is_due(1):
            measured += 1
            meter._sites.add(1)
            meter.seconds += 0.004
            meter._last_s = 0.004
            now += 0.004
        now += 0.01
    assert meter.seconds <= 0.05 * now
    assert meter.seconds >= 0.04 * now
    assert measured > 50
    meter.on = "off"
    assert not meter.is_due(2)
    meter.on = "norm"
    assert meter.is_due(1)


def test_hooks_go_with_the_pass_and_nothing_is_kept_alive() -> None:
    text = NET + "loss = net(x).sum()\nloss.backward(retain_graph=True)\n"
    ran = run_traced(text, grads="norm")
    called: list[int] = []
    add = Readout.add
    Readout.add = lambda self, *a, **k: (called.append(1), add(self, *a, **k))[1]  # type: ignore[method-assign]
    try:
        ran.ns["loss"].backward()
    finally:
        Readout.add = add  # type: ignore[method-assign]
    assert called == []
    refs = [weakref.ref(p) for p in ran.ns["net"].parameters()]
    refs += [weakref.ref(p.grad) for p in ran.ns["net"].parameters()]
    refs.append(weakref.ref(ran.ns["loss"]))
    ran.ns.clear()
    gc.collect()
    assert [ref for ref in refs if ref() is not None] == []


def test_an_error_in_a_hook_of_ours_ends_the_trace_and_not_the_cell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> bool:
        raise RuntimeError("no")

    monkeypatch.setattr(Readout, "add", fail)
    ran = run_traced(LOOP)
    assert ran.error is None
    assert ran.notes == ["leafmagic stopped recording: RuntimeError: no"]
    assert ran.ns["net"][0].weight.grad is not None


def test_a_pass_that_raises_is_not_measured_and_leaves_no_hook() -> None:
    text = """
class Bad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        raise ValueError("here")
w = torch.ones(3, requires_grad=True)
for step in range(2):
    loss = Bad.apply(w * 3).sum()
    try:
        loss.backward(retain_graph=True)
    except ValueError:
        pass
"""
    ran = run_traced(text, grads="norm")
    check_well(ran)
    assert ran.trace.steps.count == 0
    assert [n for n in ran.trace.graph.nodes if n.stats is not None] == []


def test_loops_are_told_while_they_run_and_where_they_were_left() -> None:
    text = """
import leafmagic, time
seen = []
w = torch.ones(3, requires_grad=True)
for epoch in range(2):
    for batch in [1, 2, 3, 4]:
        (w * batch).sum().backward()
        time.sleep(0.11)
        seen.append(leafmagic.last().document()["training"]["loops"])
"""
    ran = run_traced(text)
    check_well(ran)
    seen = [[(loop["line"], loop["done"], loop["total"]) for loop in at] for at in ran.ns["seen"]]
    assert seen[1] == [(5, 1, 2), (6, 2, 4)]
    assert seen[-1] == [(5, 2, 2), (6, 4, 4)]
    assert training(ran)["loops"] == []
    ran = run_traced(text + "        if epoch: 1 / 0\n")
    assert isinstance(ran.error, ZeroDivisionError)
    assert training(ran)["loops"][0] == {"what": "range", "line": 5, "done": None, "total": 2}


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "ValueError"])
def test_a_loop_that_went_on_since_it_was_seen_tells_no_number(error: str) -> None:
    text = f"""
w = torch.ones(3, requires_grad=True)
for step in range(100):
    if step == 3:
        try:
            w @ torch.ones(4)
        except RuntimeError:
            pass
    if step == 50:
        raise {error}
    (w * step).sum().backward()
"""
    ran = run_traced(text)
    assert type(ran.error).__name__ == error
    assert training(ran)["steps"] == 50
    assert training(ran)["loops"] == [{"what": "range", "line": 3, "done": None, "total": 100}]
    assert progress_line(training(ran)).endswith("range line 3 of 100")


def test_a_loop_without_backward_tells_how_far_it_was_when_torch_raised() -> None:
    text = """
net = torch.nn.Linear(3, 1)
for batch in range(30):
    out = net(torch.ones(2, 3))
    if batch == 7:
        out @ torch.ones(4)
"""
    ran = run_traced(text)
    assert isinstance(ran.error, RuntimeError)
    assert training(ran)["steps"] == 0
    payload = build_payload(ran.trace.document())
    assert progress_line(payload["training"]) == "range line 3: 8 of 30"
    assert "range line 3: 8 of 30" in render_svg(payload)
    ran = run_traced(text.replace("== 7", "< 0"))
    check_well(ran)
    assert training(ran) == {}


def test_where_torch_raises_the_loops_are_told_as_they_stand() -> None:
    text = """
w = torch.ones(3, requires_grad=True)
for step in range(40):
    (w * step).sum().backward()
    if step == 17:
        w @ torch.ones(4)
"""
    ran = run_traced(text)
    assert isinstance(ran.error, RuntimeError)
    (loop,) = training(ran)["loops"]
    assert (loop["done"], loop["total"]) == (18, 40)


def test_a_gradient_that_was_filled_with_zeros_is_told_as_cleared() -> None:
    text = """w = torch.ones(3, requires_grad=True)
for step in range(3):
    (w * 2).sum().backward()
    w.data -= 0.1 * w.grad
    w.grad.zero_()
"""
    ran = run_traced(text, grads="norm")
    payload = build_payload(ran.trace.document())
    box = re.search(r"\[3\][^<]*", render_svg(payload))
    assert box is not None
    assert box[0] == "[3] · grad cleared"
    assert ">grad<" not in render_svg(payload)
    (row,) = [row for row in tensor_rows(payload) if row[0] == "w"]
    assert row[4] == "cleared"
    ran = run_traced(text.replace("    w.grad.zero_()\n", ""), grads="norm")
    assert ">grad Σ3<" in render_svg(build_payload(ran.trace.document()))


def test_what_autograd_grad_was_given_and_gave_has_a_name() -> None:
    text = """x = torch.ones(3, requires_grad=True)
for step in range(3):
    out = x**2
    g, = torch.autograd.grad(out.sum(), x, create_graph=True)
    g.sum().backward()
    x.grad = None
"""
    trace = run_traced(text, grads="norm").trace
    roots = trace.document()["training"]["roots"]
    assert [(root["name"], root["line"]) for root in roots] == [("out.sum()", 4), ("g.sum()", 5)]
    given = trace.history("g")
    assert given["line"].tolist() == [4.0] * 3
    assert given["norm"] == pytest.approx([math.sqrt(12)] * 3)
    assert set(trace.to_dataframe().name) == {"x"}

"""Training loops of all kinds: the same results, and one step drawn, however many ran."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pytest
from tracing_kit import assert_same, both, run_traced


class Program(NamedTuple):
    """A cell that trains, for ``STEPS`` steps.

    Attributes
    ----------
    passes : int
        How many backward passes a step runs.
    """

    text: str
    passes: int = 1


NET = """net = torch.nn.Sequential(
    torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
)
x, t = torch.randn(16, 4), torch.randn(16, 1)
"""

BLOCKS = """from torch.utils.checkpoint import checkpoint
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)
        self.drop = torch.nn.Dropout(0.3)
    def forward(self, x):
        return x + self.drop(torch.relu(self.lin(x)))
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block() for _ in range(3)])
        self.out = torch.nn.Linear(4, 1)
    def inner(self, x):
        for block in self.blocks:
            x = INNER
        return x
    def forward(self, x):
        return self.out(OUTER)
net = Net()
x = torch.randn(5, 4, requires_grad=True)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(STEPS):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
"""


def blocks(inner: str, outer: str) -> str:
    return BLOCKS.replace("INNER", inner).replace("OUTER", outer)


PLAIN = blocks("block(x)", "self.inner(x)")
ONCE = blocks("checkpoint(block, x, use_reentrant=False)", "self.inner(x)")
TWICE = blocks(
    "checkpoint(block, x, use_reentrant=False)", "checkpoint(self.inner, x, use_reentrant=False)"
)

PROGRAMS: dict[str, Program] = {
    "a manual loop": Program(
        """w = torch.randn(4, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
x, t = torch.randn(16, 4), torch.randn(16, 1)
for step in range(STEPS):
    y = x @ w + b
    loss = ((y - t) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
        w.grad.zero_()
        b.grad.zero_()
"""
    ),
    "a while loop": Program(
        NET
        + """opt = torch.optim.SGD(net.parameters(), lr=0.01)
step = 0
while step < STEPS:
    loss = ((net(x) - t) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    step += 1
"""
    ),
    "a loop in a function": Program(
        NET
        + """def train(net, steps):
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(steps):
        out = net(x)
        loss = ((out - t) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss
last = train(net, STEPS)
"""
    ),
    "a loop in a class": Program(
        """class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.one = torch.nn.Linear(4, 8)
        self.two = torch.nn.Linear(8, 1)
    def forward(self, z):
        hidden = torch.relu(self.one(z))
        return self.two(hidden)
class Trainer:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters())
        self.losses = []
    def step(self, z, want):
        loss = torch.nn.functional.mse_loss(self.model(z), want)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.losses.append(loss.item())
    def fit(self, steps):
        for _ in range(steps):
            self.step(torch.randn(16, 4), torch.randn(16, 1))
trainer = Trainer(Model())
trainer.fit(STEPS)
"""
    ),
    "batches in epochs": Program(
        NET
        + """from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(x, t), batch_size=5, shuffle=True)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
log = []
for epoch in range(STEPS):
    total = 0.0
    net.train()
    for xb, tb in loader:
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(net(xb), tb)
        loss.backward()
        opt.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        held = torch.nn.functional.mse_loss(net(x), t)
    log.append((total, held.item()))
""",
        4,
    ),
    "gradients summed over parts": Program(
        NET
        + """opt = torch.optim.AdamW(net.parameters(), lr=0.1)
for step in range(STEPS):
    opt.zero_grad()
    for part, want in zip(x.split(4), t.split(4)):
        loss = torch.nn.functional.mse_loss(net(part), want) / 4
        loss.backward()
    opt.step()
""",
        4,
    ),
    "steps every other batch": Program(
        NET
        + """opt = torch.optim.SGD(net.parameters(), lr=0.1)
step = 0
for epoch in range(2):
    for i in range(STEPS):
        loss = torch.nn.functional.mse_loss(net(x), t) / 2
        loss.backward()
        if (i + 1) % 2 == 0:
            opt.step()
            opt.zero_grad()
""",
        2,
    ),
    "LBFGS": Program(
        NET
        + """opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4)
def closure():
    opt.zero_grad()
    out = net(x)
    loss = ((out - t) ** 2).mean()
    loss.backward()
    return loss
for step in range(STEPS):
    opt.step(closure)
""",
        4,
    ),
    "LBFGS with a line search": Program(
        NET
        + """opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")
def closure():
    opt.zero_grad()
    out = net(x)
    loss = ((out - t) ** 2).mean()
    loss.backward()
    return loss
for step in range(STEPS):
    opt.step(closure)
""",
        5,
    ),
    "SGD with a closure": Program(
        NET
        + """opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(STEPS):
    def closure():
        opt.zero_grad()
        loss = ((net(x) - t) ** 2).mean()
        loss.backward()
        return loss
    last = opt.step(closure)
"""
    ),
    "two optimizers": Program(
        """G = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
D = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.LeakyReLU(), torch.nn.Linear(8, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3)
od = torch.optim.Adam(D.parameters(), lr=1e-3)
bce = torch.nn.functional.binary_cross_entropy_with_logits
for step in range(STEPS):
    real = torch.randn(8, 3)
    fake = G(torch.randn(8, 2))
    od.zero_grad()
    loss_d = bce(D(real), torch.ones(8, 1)) + bce(D(fake.detach()), torch.zeros(8, 1))
    loss_d.backward()
    od.step()
    og.zero_grad()
    loss_g = bce(D(fake), torch.ones(8, 1))
    loss_g.backward()
    og.step()
""",
        2,
    ),
    "a gradient penalty": Program(
        """G = torch.nn.Linear(2, 3)
D = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.LeakyReLU(), torch.nn.Linear(8, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3)
od = torch.optim.Adam(D.parameters(), lr=1e-3)
def penalty(real, fake):
    eps = torch.rand(8, 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = D(mixed)
    ones = torch.ones_like(score)
    grads, = torch.autograd.grad(score, mixed, ones, create_graph=True, retain_graph=True)
    return ((grads.view(8, -1).norm(2, dim=1) - 1) ** 2).mean()
for step in range(STEPS):
    for _ in range(3):
        real = torch.randn(8, 3)
        fake = G(torch.randn(8, 2)).detach()
        loss_d = D(fake).mean() - D(real).mean() + 10 * penalty(real, fake)
        od.zero_grad()
        loss_d.backward()
        od.step()
    loss_g = -D(G(torch.randn(8, 2))).mean()
    og.zero_grad()
    loss_g.backward()
    og.step()
""",
        7,
    ),
    "a second derivative": Program(
        """w = torch.tensor([1.0, 2.0], requires_grad=True)
for step in range(STEPS):
    y = (w ** 3).sum()
    g, = torch.autograd.grad(y, w, create_graph=True)
    h = (g ** 2).sum()
    gg, = torch.autograd.grad(h, w)
    with torch.no_grad():
        w -= 1e-4 * gg
""",
        2,
    ),
    "a step through a step": Program(
        """w = torch.randn(3, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.01)
x = torch.randn(5, 3)
for step in range(STEPS):
    inner = (x @ w).pow(2).mean()
    g, = torch.autograd.grad(inner, w, create_graph=True)
    fast = w - 0.1 * g
    outer = (x @ fast).abs().mean()
    opt.zero_grad()
    outer.backward()
    opt.step()
""",
        2,
    ),
    "a graph that is kept": Program(
        NET
        + """opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(STEPS):
    h = net(x)
    one = (h - t).abs().mean()
    two = ((h - t) ** 2).mean()
    opt.zero_grad()
    one.backward(retain_graph=True)
    two.backward()
    opt.step()
""",
        2,
    ),
    "two losses at once": Program(
        NET
        + """opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(STEPS):
    h = net(x)
    a = (h - t).abs().mean()
    b = h.pow(2).mean()
    opt.zero_grad()
    torch.autograd.backward([a, b])
    opt.step()
"""
    ),
    "a GradScaler": Program(
        NET
        + """opt = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
for step in range(STEPS):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = torch.nn.functional.mse_loss(net(x), t)
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
"""
    ),
    "a GradScaler that skips": Program(
        NET
        + """opt = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127)
seen = []
for step in range(STEPS):
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), t)
    scaler.scale(loss * 1e3).backward()
    scaler.step(opt)
    scaler.update()
    seen.append(scaler.get_scale())
"""
    ),
    "checkpoint, reentrant": Program(
        """from torch.utils.checkpoint import checkpoint
a = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
c = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())
head = torch.nn.Linear(8, 1)
x, t = torch.randn(16, 4), torch.randn(16, 1)
opt = torch.optim.SGD([*a.parameters(), *c.parameters(), *head.parameters()], lr=0.1)
for step in range(STEPS):
    h = a(x)
    h = checkpoint(c, h, use_reentrant=True)
    loss = ((head(h) - t) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    ),
    "checkpoint": Program(
        """from torch.utils.checkpoint import checkpoint
a = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
c = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh())
head = torch.nn.Linear(8, 1)
x, t = torch.randn(16, 4), torch.randn(16, 1)
opt = torch.optim.SGD([*a.parameters(), *c.parameters(), *head.parameters()], lr=0.1)
for step in range(STEPS):
    h = a(x)
    h = checkpoint(c, h, use_reentrant=False)
    loss = ((head(h) - t) ** 2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    ),
    "checkpoint of a function, reentrant": Program(
        """from torch.utils.checkpoint import checkpoint
w = torch.randn(4, 8, requires_grad=True)
v = torch.randn(8, 1, requires_grad=True)
x, t = torch.randn(16, 4, requires_grad=True), torch.randn(16, 1)
def block(z):
    a = z @ w
    b = torch.tanh(a)
    return b * 2
for step in range(STEPS):
    h = checkpoint(block, x, use_reentrant=True)
    loss = ((h @ v - t) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        v -= 0.01 * v.grad
        w.grad = v.grad = None
"""
    ),
    "checkpoint of a function": Program(
        """from torch.utils.checkpoint import checkpoint
w = torch.randn(4, 8, requires_grad=True)
v = torch.randn(8, 1, requires_grad=True)
x, t = torch.randn(16, 4, requires_grad=False), torch.randn(16, 1)
def block(z):
    a = z @ w
    b = torch.tanh(a)
    return b * 2
for step in range(STEPS):
    h = checkpoint(block, x, use_reentrant=False)
    loss = ((h @ v - t) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.01 * w.grad
        v -= 0.01 * v.grad
        w.grad = v.grad = None
"""
    ),
    "checkpoint_sequential": Program(
        """from torch.utils.checkpoint import checkpoint_sequential
parts = [torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh()) for _ in range(4)]
net = torch.nn.Sequential(*parts)
x = torch.randn(16, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(STEPS):
    loss = checkpoint_sequential(net, 2, x, use_reentrant=False).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    ),
    "a state that is carried": Program(
        """w = torch.randn(3, 3, requires_grad=True)
h = torch.zeros(3)
for step in range(STEPS):
    h = torch.tanh(w @ h + 1)
    loss = h.sum()
    loss.backward()
    h = h.detach()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
"""
    ),
    "hooks and retained gradients": Program(
        """w = torch.randn(3, requires_grad=True)
norms = []
for step in range(STEPS):
    h = w * 2
    h.retain_grad()
    handle = h.register_hook(lambda g: norms.append(float(g.norm())))
    loss = h.pow(2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
    last = h.grad.norm().item()
"""
    ),
    "anomaly mode": Program(
        NET
        + """opt = torch.optim.SGD(net.parameters(), lr=0.1)
with torch.autograd.detect_anomaly(check_nan=True):
    for step in range(STEPS):
        opt.zero_grad()
        torch.nn.functional.mse_loss(net(x), t).backward()
        opt.step()
"""
    ),
    "a network with buffers": Program(
        """net = torch.nn.Sequential(
    torch.nn.Conv2d(1, 4, 3),
    torch.nn.BatchNorm2d(4),
    torch.nn.ReLU(inplace=True),
    torch.nn.MaxPool2d(2),
    torch.nn.Flatten(),
    torch.nn.Linear(36, 3),
)
x = torch.randn(2, 1, 8, 8)
y = torch.tensor([0, 1])
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(STEPS):
    opt.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
"""
    ),
    "torch.func": Program(
        NET
        + """from torch.func import functional_call, grad
params = dict(net.named_parameters())
def loss_of(p):
    return ((functional_call(net, p, (x,)) - t) ** 2).mean()
for step in range(STEPS):
    gs = grad(loss_of)({k: v.detach() for k, v in params.items()})
    with torch.no_grad():
        for k, v in params.items():
            v -= 0.01 * gs[k]
"""
    ),
    "a gradient penalty, once a step": Program(
        """D = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
od = torch.optim.Adam(D.parameters(), lr=1e-3)
for step in range(STEPS):
    real = torch.randn(8, 3)
    mid = real.clone().requires_grad_()
    score = D(mid)
    g, = torch.autograd.grad(score.sum(), mid, create_graph=True)
    penalty = ((g.norm(dim=1) - 1) ** 2).mean()
    loss = score.mean() + 10 * penalty
    od.zero_grad()
    loss.backward()
    od.step()
""",
        2,
    ),
    "checkpoint of blocks": Program(ONCE),
    "checkpoint in checkpoint": Program(TWICE),
    "checkpoint in checkpoint, reentrant": Program(TWICE.replace("=False", "=True")),
}


def drawn(ran: Any) -> Counter[Any]:
    """Return what is drawn, and how often."""
    return Counter(
        (node.kind, node.name, node.op, node.line, node.column, node.state)
        for node in ran.trace.graph.nodes
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop(name: str) -> None:
    text, passes = PROGRAMS[name]
    plain, ran = both(text.replace("STEPS", "5"))
    assert plain.error is None
    assert_same(plain, ran)
    assert ran.trace.findings == ()
    roots = ran.trace.document()["training"]["roots"]
    assert sum(root["steps"] for root in roots) == 5 * passes
    assert ran.trace.steps.count == max(root["steps"] for root in roots)
    once, more = (run_traced(text.replace("STEPS", steps)) for steps in ("1", "9"))
    # One step is drawn, and what was made before the loop.
    if name in MORE:
        assert drawn(ran) - drawn(once) == MORE[name]
    else:
        assert drawn(ran) - drawn(once) == Counter()
    assert drawn(more) == drawn(ran)
    assert len(more.trace.graph.edges) == len(ran.trace.graph.edges)


MORE = {
    # The nodes behind a second derivative name those of the forward pass, which from the
    # second step on are known by what they were called with, and not each for itself.
    "a gradient penalty, once a step": Counter({("op", "TBackward0", "t", None, None, "op"): 2}),
}
"""What a step draws more than the first does."""


def test_recomputed_nodes_are_not_drawn_twice() -> None:
    plain, once, twice = (run_traced(text.replace("STEPS", "4")) for text in (PLAIN, ONCE, TWICE))

    def ops(ran: Any) -> list[tuple[str, int]]:
        return sorted((n.name, n.count) for n in ran.trace.graph.nodes if n.kind == "op")

    # The same nodes, each run once in a step.
    assert ops(once) == ops(plain)
    assert ops(twice) == ops(plain)


def test_a_node_counts_the_steps() -> None:
    ran = run_traced(PROGRAMS["two optimizers"].text.replace("STEPS", "7"))
    assert [ran.node(name).count for name in ("real", "fake", "loss_d", "loss_g")] == [7] * 4


def test_a_branch_is_drawn_once_it_ran() -> None:
    text = (
        NET
        + """opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(STEPS):
    out = net(x)
    loss = ((out - t) ** 2).mean()
    if step % 3 == 2:
        loss = loss + 0.1 * out.abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    )
    plain, ran = both(text.replace("STEPS", "8"))
    assert_same(plain, ran)
    counts = {n.op: n.count for n in ran.trace.graph.nodes if n.kind == "op" and n.line == 10}
    assert counts == {"abs": 2, "mean": 2, "mul": 2, "add": 2}
    assert drawn(ran) == drawn(run_traced(text.replace("STEPS", "12")))


def test_a_sequence_is_as_long_as_the_longest() -> None:
    text = """cell = torch.nn.RNNCell(3, 5)
opt = torch.optim.SGD(cell.parameters(), lr=0.01)
for step in range(STEPS):
    h = torch.zeros(2, 5)
    for k in range(2 + step % 3):
        h = cell(torch.randn(2, 3), h)
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
    plain, ran = both(text.replace("STEPS", "8"))
    assert_same(plain, ran)
    cells = [n.count for n in ran.trace.graph.nodes if n.name == "TanhBackward0"]
    assert cells == [8, 8, 5, 2]
    assert drawn(ran) == drawn(run_traced(text.replace("STEPS", "12")))


WITHOUT = """w = torch.randn(4, 4, requires_grad=True)
x = torch.randn(2, 4)
for step in range(STEPS):
    y = torch.tanh(x @ w)
    z = y.sum()
"""


@pytest.mark.parametrize("steps", [1, 3, 6, 9])
def test_a_loop_without_backward(steps: int) -> None:
    plain, ran = both(WITHOUT.replace("STEPS", str(steps)))
    assert_same(plain, ran)
    assert drawn(ran) == drawn(run_traced(WITHOUT.replace("STEPS", "1")))
    assert {n.count for n in ran.trace.graph.nodes if n.kind == "op"} == {steps}
    assert [n.name for n in ran.trace.graph.nodes if any(b.current for b in n.names)] == [*"wxyz"]
    ids = {node.id for node in ran.trace.graph.nodes}
    assert all({edge.source, edge.target} <= ids for edge in ran.trace.graph.edges)
    assert len(ran.trace.graph.edges) == 7


def test_a_loop_without_backward_in_a_function_and_after_training() -> None:
    text = (
        NET
        + "def run(n):\n    for step in range(n):\n        y = net(x)\n        z = y.sum()\n"
        + "        if step % 5 == 1:\n            z = z * 2\n    return z\n"
        + "net(x).sum().backward()\nlast = run(STEPS)\n"
    )
    plain, ran = both(text.replace("STEPS", "9"))
    assert_same(plain, ran)
    counts = {n.op: n.count for n in ran.trace.graph.nodes if n.kind == "op" and n.line in (8, 10)}
    assert counts == {"sum": 9, "mul": 2}
    assert drawn(ran) == drawn(run_traced(text.replace("STEPS", "13")))


@pytest.mark.parametrize(
    ("text", "op", "times"),
    [
        ("h = x[0]\nfor step in range(4):\n    h = torch.tanh(w @ h)\n", "TanhBackward0", 4),
        (
            "outs = []\nfor step in range(4):\n    outs.append(torch.tanh(x @ w))\n",
            "TanhBackward0",
            4,
        ),
        (
            "for step in range(4):\n    h = torch.tanh(x @ w)\n    if step == 1:\n        first = h\n",
            "TanhBackward0",
            2,
        ),
    ],
)
def test_what_is_still_there_stays(text: str, op: str, times: int) -> None:
    ran = run_traced(WITHOUT.partition("for")[0] + text)
    assert [n.name for n in ran.trace.graph.nodes].count(op) == times


BATCHES = {
    "a list": ("data = [torch.randn(8, 4) for _ in range(STEPS)]", "xb in data", "xb"),
    "pairs": (
        "data = [(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(STEPS)]",
        "xb, yb in data",
        "xb - yb",
    ),
    "rows": ("X = torch.randn(STEPS, 8, 4)", "xb in X", "xb"),
    "zip": (
        "X, Y = torch.randn(STEPS, 8, 4), torch.randn(STEPS, 8, 1)",
        "xb, yb in zip(X, Y)",
        "xb * yb",
    ),
    "chunks": ("X = torch.randn(8 * STEPS, 4)", "xb in X.chunk(STEPS)", "xb"),
    "split": ("X = torch.randn(8 * STEPS, 4)", "xb in X.split(8)", "xb"),
    "a dict": (
        "data = {i: torch.randn(8, 4) for i in range(STEPS)}",
        "k, xb in data.items()",
        "xb",
    ),
}


@pytest.mark.parametrize("name", BATCHES)
def test_each_batch_is_the_same_box(name: str) -> None:
    data, loop, value = BATCHES[name]
    text = (
        f"net = torch.nn.Linear(4, 1)\nopt = torch.optim.SGD(net.parameters(), 0.1)\n{data}\n"
        f"for {loop}:\n    out = net({value})\n    loss = out.pow(2).mean()\n"
        "    opt.zero_grad()\n    loss.backward()\n    opt.step()\n"
    )
    plain, ran = both(text.replace("STEPS", "6"))
    assert_same(plain, ran)
    graph = ran.trace.graph
    few, many = drawn(run_traced(text.replace("STEPS", "3"))), drawn(ran)
    assert many == few
    # Every edge is there: the weight behind its transposition, the data beside it.
    ends = [
        (graph.node(edge.source).op, graph.node(edge.target).name or graph.node(edge.target).op)
        for edge in graph.edges
        if edge.source.startswith("n")
    ]
    assert ("t", "net.weight") in ends
    assert ("linear", "TBackward0") in ends
    assert ("linear", "net.bias") in ends
    assert ("linear", "net.weight") not in ends
    assert [node.name for node in graph.nodes if "[" in node.name] == []


def test_a_model_made_anew_takes_the_place_of_the_one_before() -> None:
    text = """
X = torch.randn(8, 4)
for fold in range(FOLDS):
    model = torch.nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(4):
        opt.zero_grad()
        loss = model(X).pow(2).mean()
        loss.backward()
        opt.step()
"""
    ran = run_traced(text.replace("FOLDS", "3"))
    graph = ran.trace.graph
    ends = {
        (graph.node(edge.source).name, graph.node(edge.target).name)
        for edge in graph.edges
        if edge.source.startswith("n") and edge.kind == "next"
    }
    assert ("TBackward0", "model.weight") in ends
    assert ("AddmmBackward0", "model.bias") in ends
    assert ("AddmmBackward0", "TBackward0") in ends
    assert ("AddmmBackward0", "model.weight") not in ends
    led_to = {edge.target for edge in graph.edges}
    assert sum(node.id in led_to for node in graph.nodes if node.name == "model.weight") == 1

"""A traced cell computes exactly what the same cell computes untraced."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tracing_kit import assert_same, both, check_well

HEAD = """
import torch
from torch import nn
import torch.nn.functional as F
"""

MODELS = {
    "mlp": """
net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Dropout(0.3), nn.Linear(16, 3))
make = lambda: (torch.randn(8, 6), torch.randint(0, 3, (8,)))
loss_of = lambda out, y: F.cross_entropy(out, y)
""",
    "cnn": """
net = nn.Sequential(
    nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
    nn.Conv2d(4, 4, 3), nn.BatchNorm2d(4), nn.LeakyReLU(0.1, inplace=True), nn.AdaptiveAvgPool2d(1),
    nn.Flatten(), nn.Linear(4, 3),
)
make = lambda: (torch.randn(4, 1, 12, 12), torch.randint(0, 3, (4,)))
loss_of = lambda out, y: nn.CrossEntropyLoss(label_smoothing=0.1)(out, y)
""",
    "lstm": """
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 5)
        self.lstm = nn.LSTM(5, 7, num_layers=2, dropout=0.2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(14, 4)
    def forward(self, x):
        h, (hn, cn) = self.lstm(self.embed(x))
        return self.head(h)
net = Tagger()
make = lambda: (torch.randint(0, 11, (3, 6)), torch.randint(0, 4, (3, 6)))
loss_of = lambda out, y: F.nll_loss(F.log_softmax(out, -1).flatten(0, 1), y.flatten())
""",
    "attention": """
net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2)
make = lambda: (torch.randn(2, 5, 8), torch.randn(2, 5, 8))
loss_of = lambda out, y: F.smooth_l1_loss(out, y)
""",
}
STEPS = """
opt = {opt}
losses = []
for step in range(4):
    x, y = make()
    opt.zero_grad(set_to_none={none})
    out = net(x)
    loss = loss_of(out, y)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    losses.append(loss.item())
rng = torch.get_rng_state()
state = opt.state_dict()["state"]
moments = [v for one in state.values() for v in one.values() if isinstance(v, torch.Tensor)]
"""
OPTIMIZERS = {
    "sgd": "torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)",
    "adam": "torch.optim.Adam(net.parameters(), lr=0.01)",
}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_training_is_bit_equal(model: str, optimizer: str) -> None:
    text = HEAD + MODELS[model] + STEPS.format(opt=OPTIMIZERS[optimizer], none=model != "cnn")
    plain, traced = both(text, grads="norm" if model in ("mlp", "lstm") else "auto")
    assert plain.error is None
    check_well(traced)
    assert_same(plain, traced)
    assert traced.found == set()


PROGRAMS = {
    "double backward": """
x = torch.randn(5, requires_grad=True)
y = (x ** 3).sum()
g, = torch.autograd.grad(y, x, create_graph=True)
h = g.pow(2).sum()
h.backward()
""",
    "hooks": """
seen = []
x = torch.randn(3, requires_grad=True)
x.register_hook(lambda g: seen.append(g.tolist()))
y = x * 2
handle = y.register_hook(lambda g: g * 10)
y.register_hook(lambda g: seen.append(g.tolist()))
z = y.sum()
post = x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
z.backward()
handle.remove()
seen = [float(v) for one in seen for v in one]
""",
    "module hooks": """
seen = []
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
net[0].register_forward_hook(lambda m, i, o: seen.append(o.sum().item()))
net[2].register_full_backward_hook(lambda m, gi, go: seen.append(go[0].sum().item()))
net[0].register_forward_pre_hook(lambda m, i: seen.append(len(i)))
out = net(torch.randn(4, 2)).sum()
out.backward()
""",
    "checkpoint": """
from torch.utils.checkpoint import checkpoint
calls = []
net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Dropout(0.5))
def body(t):
    calls.append(1)
    return net(t)
x = torch.randn(3, 4, requires_grad=True)
a = checkpoint(body, x, use_reentrant=False).sum()
a.backward()
b = checkpoint(body, x, use_reentrant=True).sum()
b.backward()
""",
    "custom function": """
class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        r = i.exp()
        ctx.save_for_backward(r)
        ctx.seen = r.requires_grad
        return r
    @staticmethod
    def backward(ctx, g):
        r, = ctx.saved_tensors
        return g * r
class Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx, i):
        ctx.mark_non_differentiable(k := (i > 0).sum())
        return i * 2, i.clone(), k
    @staticmethod
    def backward(ctx, g, h, _):
        return g * 2 + h
x = torch.randn(3, requires_grad=True)
y = Exp.apply(x)
a, b, k = Split.apply(y)
(a * b).sum().backward()
""",
    "func transforms": """
from torch.func import grad, vmap, jvp, vjp, jacrev, jacfwd, hessian, functional_call
f = lambda v: (v.sin() * v).sum()
x = torch.randn(4)
a = grad(f)(x)
b = vmap(grad(lambda v: v.sin() * v))(x)
c, d = jvp(f, (x,), (torch.ones(4),))
e, back = vjp(f, x)
g, = back(torch.ones(()))
h = hessian(f)(x)
j = jacrev(torch.sin)(x)
net = torch.nn.Linear(4, 2)
params = dict(net.named_parameters())
k = grad(lambda p: functional_call(net, p, x).sum())(params)["weight"]
w = torch.randn(4, requires_grad=True)
m = grad(f)(w).sum()
m.backward()
del back
""",
    "forward mode": """
import torch.autograd.forward_ad as fw
x, t = torch.randn(3), torch.randn(3)
with fw.dual_level():
    d = fw.make_dual(x, t)
    out = fw.unpack_dual(d * d).tangent.clone()
del d
""",
    "scripted": """
import warnings
warnings.simplefilter("ignore")
net = torch.jit.trace(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()), torch.zeros(1, 3))
x = torch.randn(2, 3, requires_grad=True)
y = net(x).sum()
y.backward()
""",
    "data loader": """
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.randn(12, 3), torch.randn(12, 1)), batch_size=4, shuffle=True)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
""",
    "deepcopy and pickle": """
import copy, io, pickle
net = torch.nn.Linear(3, 2)
net(torch.randn(1, 3)).sum().backward()
twin = copy.deepcopy(net)
leaf = torch.randn(2, requires_grad=True)
leaf.note = "kept"
leaf2 = copy.deepcopy(leaf)
leaf3 = pickle.loads(pickle.dumps(leaf))
f = io.BytesIO()
torch.save({"net": net.state_dict(), "leaf": leaf}, f)
size = len(f.getvalue())
f.seek(0)
back = torch.load(f)["leaf"]
c = copy.copy(leaf)
del f
""",
    "inference mode": """
w = torch.randn(3, requires_grad=True)
with torch.inference_mode():
    a = w * 2
    a.add_(1)
    b = a.view(3, 1)
try:
    (w * a).sum().backward()
except RuntimeError as e:
    said = str(e)
c = w * a.clone()
""",
    "views and versions": """
x = torch.randn(4, 3, requires_grad=True)
y = x * 2
v = y[1]
u = y.unbind(0)
s, t = y.split(2)
v.add_(1)
w = y.view(12)
y[0] = 0
y.t_()
z = (y * y).sum()
z.backward()
d = x.data
e = x.detach()
""",
    "no grad leaf update": """
w = torch.randn(3, requires_grad=True)
for _ in range(3):
    loss = (w ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
with torch.no_grad():
    phantom = w[:2]
""",
    "sparse, complex, half, ints": """
e = torch.nn.Embedding(5, 2, sparse=True)
e(torch.tensor([1, 1, 3])).sum().backward()
c = torch.randn(3, dtype=torch.cfloat, requires_grad=True)
l = (c * c.conj()).real.sum()
l.backward()
m = c.mH if c.dim() > 1 else c.imag
h = torch.randn(4, dtype=torch.bfloat16, requires_grad=True)
(h * 2).sum().backward()
i = torch.arange(5)
i += 2
s = torch.eye(3).to_sparse().requires_grad_()
(torch.sparse.mm(s, torch.ones(3, 2))).sum().backward()
q = torch.empty(0, 3, requires_grad=True)
q.sum().backward()
k = torch.zeros(3, device="meta", requires_grad=True) * 2
del k
""",
    "retain and reuse": """
a = torch.randn(3, requires_grad=True)
b = a * a
b.retain_grad()
c = b.exp()
c.retain_grad()
l = c.sum()
l.backward(retain_graph=True)
l.backward()
n = b.grad.norm()
""",
    "grad mode switches": """
x = torch.randn(3, requires_grad=True)
torch.set_grad_enabled(False)
a = x * 2
torch.set_grad_enabled(True)
with torch.no_grad():
    b = x * 2
    with torch.enable_grad():
        c = x * 2
    d = b + c
@torch.no_grad()
def f(t):
    return t * 3
e = f(x)
on = torch.is_grad_enabled()
""",
    "autocast": """
net = torch.nn.Linear(4, 4)
x = torch.randn(2, 4)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = net(x)
    l = y.float().pow(2).mean()
l.backward()
scaler = torch.amp.GradScaler("cpu", enabled=False)
""",
    "lbfgs": """
w = torch.randn(3, requires_grad=True)
opt = torch.optim.LBFGS([w], max_iter=4)
calls = []
def closure():
    opt.zero_grad()
    loss = ((w - 1) ** 2).sum() + w.cos().sum()
    loss.backward()
    calls.append(loss.item())
    return loss
for _ in range(2):
    opt.step(closure)
""",
    "anomaly": """
import warnings
x = torch.zeros(2, requires_grad=True)
try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.autograd.detect_anomaly():
            (x / 0 * 0).sqrt().sum().backward()
except RuntimeError as e:
    said = str(e)
""",
    "saved tensor hooks": """
packed = []
def pack(t):
    packed.append(tuple(t.shape))
    return t.clone()
x = torch.randn(3, requires_grad=True)
with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
    y = (x * x).exp().sum()
y.backward()
count = len(packed)
with torch.autograd.graph.save_on_cpu():
    z = (x * x).sum()
z.backward()
del packed
""",
    "generators": """
def batches():
    for i in range(4):
        t = torch.full((2,), float(i), requires_grad=True)
        yield t * 2
outs = list(batches())
total = sum(o.sum() for o in outs)
total.backward()
pairs = [a * b for a, b in zip(batches(), batches())]
""",
    "set_ and data": """
w = torch.randn(3, requires_grad=True)
w.data = torch.ones(3)
w.data.mul_(2)
v = torch.empty(0)
v.set_(torch.arange(3.0))
v.resize_(2)
w.grad = torch.ones(3)
w.requires_grad_(False)
w.requires_grad = True
g = w.grad
w.grad.zero_()
out = torch.empty(3)
torch.add(torch.ones(3), 1, out=out)
torch.nn.init.normal_(w)
""",
    "numpy": """
a = torch.ones(3)
n = a.numpy()
n += 1
b = torch.from_numpy(n)
r = torch.randn(3, requires_grad=True)
m = r.detach().numpy().sum().item()
l = r.tolist()
f = float(r.sum().detach())
i = int(torch.tensor(3))
del n
""",
    "parametrizations": """
import torch.nn.utils.parametrizations as P
net = P.weight_norm(torch.nn.Linear(3, 3))
spec = P.spectral_norm(torch.nn.Linear(3, 3))
x = torch.randn(2, 3)
l = (net(x) + spec(x)).pow(2).sum()
l.backward()
""",
    "ema and swa": """
from torch.optim.swa_utils import AveragedModel
net = torch.nn.Linear(2, 2)
ema = AveragedModel(net, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9))
opt = torch.optim.AdamW(net.parameters())
for _ in range(3):
    opt.zero_grad()
    net(torch.randn(4, 2)).sum().backward()
    opt.step()
    ema.update_parameters(net)
""",
    "nested tensors and named tuples": """
x = torch.randn(4, 3, requires_grad=True)
m = x.max(dim=1)
v, i = m
k = torch.topk(x, 2)
s = torch.linalg.svd(x)
l = v.sum() + k.values.sum() + s.S.sum()
l.backward()
is_tuple = isinstance(m, tuple) and hasattr(m, "values")
del m, k, s
""",
    "distributions": """
from torch.distributions import Normal, kl_divergence
mu = torch.zeros(3, requires_grad=True)
d = Normal(mu, torch.ones(3))
z = d.rsample()
l = kl_divergence(d, Normal(0.0, 1.0)).sum() - d.log_prob(z).sum()
l.backward()
""",
}

PROVOKED = {"inference mode": ("LM703",), "anomaly": ("LM901",)}
"""What a program does wrong on purpose."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_program_does_the_same(program: str, tmp_path: Path) -> None:
    plain, traced = both(HEAD + PROGRAMS[program], grads="norm")
    assert plain.error is None, plain.error
    check_well(traced)
    assert_same(plain, traced)
    told = [f for f in traced.trace.findings if f.severity != "info"]
    assert [f.explanation() for f in told if f.code not in PROVOKED.get(program, ())] == []
    traced.trace.save(tmp_path / "graph.html")


def test_random_numbers_are_left_alone() -> None:
    text = "a = torch.randn(3, requires_grad=True)\n(a * 2).sum().backward()\n"
    plain, traced = both(text + "state = torch.get_rng_state()\nb = torch.rand(5)")
    assert torch.equal(plain.ns["state"], traced.ns["state"])
    assert torch.equal(plain.ns["b"], traced.ns["b"])

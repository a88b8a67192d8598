"""Correct code of the kind people write: not one error and not one warning."""

from __future__ import annotations

import pytest
import torch
from tracing_kit import check_well, run_traced

HEAD = """import torch
from torch import nn
import torch.nn.functional as F
"""

CORRECT = {
    "gan step": """
G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(inplace=True), nn.Linear(8, 3))
D = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(0.2, inplace=True), nn.Linear(8, 1))
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
for _ in range(3):
    real, z = torch.randn(4, 3), torch.randn(4, 2)
    fake = G(z)
    od.zero_grad()
    ld = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    ld.backward()
    od.step()
    og.zero_grad()
    lg = F.softplus(-D(fake)).mean()
    lg.backward()
    og.step()
""",
    "wgan gradient penalty": """
D = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.RMSprop(D.parameters())
for _ in range(2):
    real, fake = torch.randn(4, 3), torch.randn(4, 3)
    eps = torch.rand(4, 1)
    inter = (eps * real + (1 - eps) * fake).requires_grad_()
    score = D(inter)
    grad, = torch.autograd.grad(score.sum(), inter, create_graph=True)
    gp = ((grad.norm(2, dim=1) - 1) ** 2).mean()
    loss = D(fake).mean() - D(real).mean() + 10 * gp
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "penalty on generated samples": """
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
fake = G(torch.randn(4, 2))
inter = (0.5 * fake + 0.5).requires_grad_(True)
g = torch.autograd.grad(D(inter).sum(), inter, create_graph=True)[0]
g.pow(2).sum().backward()
""",
    "items that take computed values": """
w = torch.ones(1, requires_grad=True)
acts, state, total = [torch.ones(1, requires_grad=True)], {"h": torch.zeros(1, requires_grad=True)}, {}
total["s"] = torch.zeros(1)
for _ in range(3):
    acts[0] = w * acts[0].detach()
    h = w * state["h"]
    state["h"] = h.detach()
    (acts[0] + h).sum().backward()
    total["s"] = total["s"] + (w.grad * w).detach()
    total["next"] = w - 0.1 * w.grad
""",
    "items made leaves again": """
p = {"a": torch.ones(1, requires_grad=True), "b": torch.ones(1, requires_grad=True)}
ws = [nn.Parameter(torch.ones(1))]
for _ in range(3):
    (p["a"] * p["b"] * ws[0]).sum().backward()
    with torch.no_grad():
        p["a"] = p["a"] - 0.1 * p["a"].grad
    p["a"].requires_grad_()
    with torch.no_grad():
        p["b"] = p["b"] - 0.1 * p["b"].grad
    p["b"] = p["b"].detach().requires_grad_()
    ws[0] = ws[0] - 0.1 * ws[0].grad
    ws[0] = nn.Parameter(ws[0].detach())
""",
    "fast weights": """
w = torch.ones(1, requires_grad=True)
fast = {"w": w}
(fast["w"] ** 2).sum().backward(create_graph=True)
fast["w"] = fast["w"] - 0.1 * fast["w"].grad
(fast["w"] ** 2).sum().backward()
""",
    "adversarial items": """
xs = [torch.ones(2, requires_grad=True)]
(xs[0] ** 2).sum().backward()
xs[0] = xs[0] + 0.1 * xs[0].grad.sign()
""",
    "manual sgd": """
w = torch.randn(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for i in range(5):
    loss = ((torch.randn(8, 3) @ w + b) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
        w.grad.zero_()
        b.grad = None
""",
    "manual sgd by data": """
w = torch.randn(3, requires_grad=True)
for i in range(3):
    (w ** 2).sum().backward()
    w.data -= 0.1 * w.grad.data
    w.grad.data.zero_()
    w.data = w.data - 0.1 * w.grad
""",
    "manual sgd, a new leaf each step": """
w = torch.randn(3, requires_grad=True)
for i in range(3):
    (w ** 2).sum().backward()
    w = (w - 0.1 * w.grad).detach().requires_grad_()
""",
    "manual update in a function": """
def sgd(params, lr):
    with torch.no_grad():
        for p in params:
            p -= lr * p.grad
            p.grad.zero_()
net = nn.Linear(2, 1)
for _ in range(3):
    net(torch.ones(1, 2)).sum().backward()
    sgd(net.parameters(), 0.1)
""",
    "maml": """
w = torch.randn(3, requires_grad=True)
opt = torch.optim.Adam([w])
def loss_of(p, x):
    return ((x @ p) ** 2).mean()
for _ in range(2):
    fast = w
    for k in range(3):
        g, = torch.autograd.grad(loss_of(fast, torch.randn(4, 3)), fast, create_graph=True)
        fast = fast - 0.1 * g
    outer = loss_of(fast, torch.randn(4, 3))
    opt.zero_grad()
    outer.backward()
    opt.step()
""",
    "maml with named parameters": """
from torch.func import functional_call
net = nn.Linear(3, 1)
for _ in range(2):
    params = dict(net.named_parameters())
    inner = functional_call(net, params, (torch.randn(4, 3),)).pow(2).mean()
    grads = torch.autograd.grad(inner, tuple(params.values()), create_graph=True)
    params = {n: p - 0.1 * g for (n, p), g in zip(params.items(), grads)}
    outer = functional_call(net, params, (torch.randn(4, 3),)).pow(2).mean()
    outer.backward()
""",
    "ema teacher": """
import copy
student = nn.Linear(3, 2)
teacher = copy.deepcopy(student).requires_grad_(False)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(4, 3)
    with torch.no_grad():
        target = teacher(x)
    loss = F.mse_loss(student(x), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t.mul_(0.9).add_(s, alpha=0.1)
            t.copy_(0.9 * t + 0.1 * s)
            t.data = 0.9 * t.data + 0.1 * s.data
""",
    "frozen backbone": """
backbone = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU())
head = nn.Linear(4, 2)
for p in backbone.parameters():
    p.requires_grad = False
backbone.eval()
opt = torch.optim.SGD([p for p in head.parameters() if p.requires_grad], lr=0.1)
for _ in range(2):
    with torch.no_grad():
        f = backbone(torch.randn(4, 3))
    loss = head(f).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
backbone.requires_grad_(True)
""",
    "frozen, reached by gradient": """
net = nn.Linear(3, 1).requires_grad_(False)
x = torch.randn(2, 3, requires_grad=True)
net(x).sum().backward()
g = x.grad
x.grad = None
with torch.no_grad():
    x += 0.1 * g.sign()
""",
    "adversarial example": """
net = nn.Linear(3, 2)
x = torch.randn(2, 3)
y = torch.tensor([0, 1])
adv = x.clone().detach().requires_grad_(True)
for _ in range(3):
    loss = F.cross_entropy(net(adv), y)
    grad = torch.autograd.grad(loss, adv)[0]
    adv = adv.detach() + 0.1 * grad.sign()
    adv = torch.clamp(adv, -1, 1).detach().requires_grad_(True)
""",
    "fgsm by grad": """
net = nn.Linear(3, 2)
x = torch.randn(2, 3, requires_grad=True)
F.cross_entropy(net(x), torch.tensor([0, 1])).backward()
x_adv = x + 0.1 * x.grad.sign()
""",
    "gradient accumulation": """
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(6):
    (net(torch.randn(2, 3)).mean() / 3).backward()
    if (i + 1) % 3 == 0:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
""",
    "guards": """
net = nn.Linear(3, 1)
net(torch.randn(2, 3)).sum().backward()
h = net(torch.randn(2, 3))
total = sum(p.grad.norm() for p in net.parameters() if p.grad is not None)
if h.grad is not None:
    print(h.grad)
ok = h.grad is None
x = torch.ones(1)
if x.grad is None:
    pass
while x.grad is not None:
    break
""",
    "guards in a helper": """
def norms(ts):
    return [0.0 if t.grad is None else t.grad.norm().item() for t in ts]
w = torch.ones(2, requires_grad=True)
h = w * 2
h.sum().backward()
n = norms([w, h])
""",
    "initialisation": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)
        self.p = nn.Parameter(torch.empty(3))
        nn.init.kaiming_uniform_(self.l.weight)
        nn.init.zeros_(self.l.bias)
        nn.init.normal_(self.p, 0, 0.1)
        nn.init.orthogonal_(self.l.weight)
        with torch.no_grad():
            self.l.weight[0] = 0
            self.l.bias.fill_(0.1)
        self.p.data.uniform_(-1, 1)
net = Net()
net.apply(lambda m: nn.init.xavier_normal_(m.weight) if isinstance(m, nn.Linear) else None)
""",
    "inplace relu after conv and bn": """
net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Conv2d(2, 2, 3), nn.ReLU6(inplace=True), nn.Dropout(inplace=True))
for _ in range(2):
    net(torch.randn(2, 1, 8, 8)).sum().backward()
""",
    "embedding with max_norm": """
e = nn.Embedding(5, 3, max_norm=1.0)
w = torch.randn(3, 2, requires_grad=True)
opt = torch.optim.SGD([*e.parameters(), w], lr=0.1)
for _ in range(2):
    i = torch.tensor([1, 2, 2])
    out = e.weight.clone() @ w
    loss = (e(i) @ w).sum() + out.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "logging by data and detach": """
net = nn.Linear(3, 1)
log = []
for _ in range(3):
    loss = net(torch.randn(2, 3)).sum()
    loss.backward()
    log.append(loss.data.item()); log.append(loss.detach().item()); log.append(float(loss))
    stats = net.weight.data.mean().item(), net.weight.grad.data.norm().item()
    net.zero_grad()
""",
    "retain_grad then read": """
w = torch.ones(2, requires_grad=True)
for _ in range(3):
    h = w * 2
    h.retain_grad()
    k = h.exp()
    k.retain_grad()
    k.sum().backward()
    a, b = h.grad, k.grad
    h.grad.zero_()
""",
    "retain_grad, read after second backward": """
w = torch.ones(2, requires_grad=True)
h = w * 2
h.sum().backward(retain_graph=True)
h.retain_grad()
h.sum().backward()
g = h.grad
""",
    "hooks": """
w = torch.ones(2, requires_grad=True)
h = w * 2
grads = {}
h.register_hook(lambda g: grads.__setitem__('h', g))
handle = w.register_hook(lambda g: g.clamp(-1, 1))
h.sum().backward()
handle.remove()
w.grad.mul_(2)
""",
    "weight norm": """
net = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.randn(2, 3)).sum().backward()
    opt.step()
w = net.weight
""",
    "lbfgs": """
w = torch.randn(3, requires_grad=True)
opt = torch.optim.LBFGS([w], line_search_fn='strong_wolfe')
def closure():
    opt.zero_grad()
    loss = ((w - 2) ** 2).sum()
    loss.backward()
    return loss
for _ in range(2):
    opt.step(closure)
""",
    "autocast": """
net = nn.Linear(3, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler('cpu')
for _ in range(2):
    opt.zero_grad()
    with torch.autocast('cpu', torch.bfloat16):
        loss = net(torch.randn(2, 3)).float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(opt)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(opt)
    scaler.update()
""",
    "truncated bptt": """
cell = nn.GRUCell(2, 3)
opt = torch.optim.Adam(cell.parameters())
h = torch.zeros(1, 3)
for chunk in range(3):
    h = h.detach()
    for t in range(4):
        h = cell(torch.randn(1, 2), h)
    opt.zero_grad()
    h.sum().backward()
    opt.step()
""",
    "reinforce": """
policy = nn.Linear(3, 2)
opt = torch.optim.Adam(policy.parameters())
logs, rewards = [], []
for _ in range(4):
    dist = torch.distributions.Categorical(logits=policy(torch.randn(3)))
    a = dist.sample()
    logs.append(dist.log_prob(a))
    rewards.append(float(a))
returns = torch.tensor(rewards)
returns = (returns - returns.mean()) / (returns.std() + 1e-6)
loss = -(torch.stack(logs) * returns).sum()
opt.zero_grad()
loss.backward()
opt.step()
""",
    "style transfer": """
feat = nn.Conv2d(3, 2, 3).requires_grad_(False)
img = torch.rand(1, 3, 8, 8).requires_grad_(True)
opt = torch.optim.Adam([img], lr=0.1)
target = feat(torch.rand(1, 3, 8, 8)).detach()
for _ in range(3):
    opt.zero_grad()
    loss = F.mse_loss(feat(img), target)
    loss.backward()
    opt.step()
    with torch.no_grad():
        img.clamp_(0, 1)
""",
    "in-place on intermediates that is allowed": """
x = torch.ones(3, requires_grad=True)
y = x * 2
y += 1
y[0] = 0
y.clamp_(0, 2)
z = torch.zeros(3)
z[1] = y[1]
z += y
z.sum().backward()
""",
    "mask and fill": """
q = torch.randn(2, 4, 4, requires_grad=True)
scores = q @ q.transpose(1, 2)
mask = torch.tril(torch.ones(4, 4)) == 0
scores = scores.masked_fill(mask, float('-inf'))
att = scores.softmax(-1)
att.sum().backward()
out = torch.empty(4)
for i in range(4):
    out[i] = i
""",
    "rebinding of data, not of leaves": """
x = torch.ones(3)
x = x * 2
x = x.reshape(3, 1)
net = nn.Linear(1, 1)
out = net(x)
out = out.relu()
out = out.mean()
out.backward()
x = torch.ones(2, requires_grad=True)
x = torch.zeros(2, requires_grad=True)
""",
    "shape games on a leaf": """
w = torch.ones(4, requires_grad=True)
v = w.view(2, 2)
v.sum().backward()
print(w.grad)
""",
    "detached copies": """
w = torch.ones(3, requires_grad=True)
best = w.detach().clone()
saved = {k: v.clone() for k, v in nn.Linear(2, 2).state_dict().items()}
snapshot = w.data.clone()
n = w.detach().numpy()
w2 = w.clone().detach().requires_grad_(True)
(w2 * 2).sum().backward()
print(w2.grad)
""",
    "load_state_dict": """
a, b = nn.Linear(2, 2), nn.Linear(2, 2)
b.load_state_dict(a.state_dict())
b.weight.data.copy_(a.weight.data)
with torch.no_grad():
    b.weight.copy_(a.weight)
    b.weight.set_(a.weight.clone())
""",
    "moving a module": """
net = nn.Linear(2, 2)
net = net.to('cpu').double().float()
x = torch.ones(1, 2).to('cpu')
net(x).sum().backward()
""",
    "leaf moved before use": """
w = torch.randn(3, device='cpu', dtype=torch.float32, requires_grad=True)
w = w.to('cpu')
w.sum().backward()
print(w.grad)
""",
    "integers that need no gradient": """
i = torch.arange(4)
i = i + 1
i[0] = 3
e = nn.Embedding(6, 2)
e(i).sum().backward()
print(e.weight.grad[i])
""",
    "zero_grad and none": """
w = torch.ones(2, requires_grad=True)
if w.grad is not None:
    w.grad.zero_()
(w * 2).sum().backward()
w.grad = None
w.grad = torch.zeros(2)
(w * 2).sum().backward()
print(w.grad, w.grad.shape)
""",
    "own optimizer": """
class MySGD(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {'lr': lr})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                p.add_(p.grad, alpha=-group['lr'])
net = nn.Linear(2, 2)
opt = MySGD(net.parameters(), 0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
""",
    "inspection": """
w = torch.ones(2, requires_grad=True)
h = w * 2
print(h, h.requires_grad, h.is_leaf, h.grad_fn, h.retains_grad, h._version)
d = dir(h)
s = repr(h) + str(w)
v = {k: getattr(w, k, None) for k in ('shape', 'dtype', 'grad')}
g = getattr(h, 'grad_fn')
""",
    "grad mode by decorator": """
@torch.no_grad()
def evaluate(net, x):
    net.eval()
    out = net(x)
    out += 1
    return out.argmax(-1)
net = nn.Linear(2, 2)
evaluate(net, torch.ones(1, 2))
@torch.inference_mode()
def predict(net, x):
    y = net(x)
    y[0] = 0
    return y
p = predict(net, torch.ones(1, 2))
""",
    "meta-learning of a learning rate": """
lr = torch.tensor(0.1, requires_grad=True)
w = torch.ones(2, requires_grad=True)
g, = torch.autograd.grad((w ** 2).sum(), w, create_graph=True)
w2 = w - lr * g
(w2 ** 2).sum().backward()
print(lr.grad, w.grad)
""",
    "physics-informed network": """
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
x = torch.linspace(0, 1, 5).reshape(-1, 1).requires_grad_()
for _ in range(2):
    u = net(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    d2u = torch.autograd.grad(du, x, torch.ones_like(du), create_graph=True)[0]
    loss = (d2u + u).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
""",
    "scheduler and clipping": """
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 0.1, total_steps=5)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    nn.utils.clip_grad_value_(net.parameters(), 0.5)
    opt.step()
    sched.step()
norm = nn.utils.get_total_norm([p.grad for p in net.parameters()])
v = nn.utils.parameters_to_vector(net.parameters())
nn.utils.vector_to_parameters(v.detach() * 0.5, net.parameters())
""",
    "names used again": """
loss = torch.ones(1, requires_grad=True).sum()
loss.backward()
x = torch.randn(3, requires_grad=True)
y = x * 2
y.sum().backward()
print(x.grad)
x = torch.randn(3)
x = x + 1
for x in torch.ones(3):
    pass
""",
}


@pytest.mark.parametrize("case", CORRECT)
def test_correct_code_is_not_accused(case: str) -> None:
    ran = run_traced(HEAD + CORRECT[case])
    check_well(ran)
    assert [f.explanation() for f in ran.trace.findings if f.severity != "info"] == []


def optimizers() -> list[type]:
    found = []
    for name in dir(torch.optim):
        kind = getattr(torch.optim, name)
        if (
            isinstance(kind, type)
            and issubclass(kind, torch.optim.Optimizer)
            and kind is not torch.optim.Optimizer
        ):
            found.append(kind)
    return found


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("kind", optimizers(), ids=lambda kind: kind.__name__)
def test_optimizers_are_not_accused(kind: type, foreach: bool) -> None:
    sparse = kind.__name__ == "SparseAdam"
    extra = "" if sparse or kind.__name__ == "LBFGS" else f", foreach={foreach}"
    if kind.__name__ in ("Adafactor", "Muon") and foreach:
        extra = ""
    if kind.__name__ == "Muon":
        extra = ""
    net = "nn.Embedding(4, 3, sparse=True)" if sparse else "nn.Linear(3, 2, bias=False)"
    data = "torch.tensor([1, 2])" if sparse else "torch.ones(2, 3)"
    text = f"""{HEAD}
net = {net}
opt = torch.optim.{kind.__name__}(net.parameters(), lr=0.01{extra})
def closure():
    opt.zero_grad()
    loss = net({data}).pow(2).sum()
    loss.backward()
    return loss
for _ in range(3):
    opt.step(closure)
saved = opt.state_dict()
opt.load_state_dict(saved)
"""
    ran = run_traced(text)
    check_well(ran)
    assert ran.found == set()

# title: The share of wrong classes as a loss
# kind: graph_cut
# variable: pred
# says: argmax gives integers, so that there is no graph.
# fix: loss = torch.nn.functional.cross_entropy(net(X), y): smooth decisions that are compared
#     with the right ones have no graph, either.
# raises: RuntimeError

import torch
torch.manual_seed(0)
X, y = torch.randn(8, 3), torch.arange(8) % 2
net = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    pred = net(X).argmax(1)  #! cause
    loss = (pred != y).float().mean()
    loss.backward()  #! symptom
    opt.step()

# === fixed
import torch
torch.manual_seed(0)
X, y = torch.randn(8, 3), torch.arange(8) % 2
net = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    pred = net(X).argmax(1)
    loss = torch.nn.functional.cross_entropy(net(X), y)
    loss.backward()
    opt.step()

# === check
assert net.weight.grad.abs().sum() > 0

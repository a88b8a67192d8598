# title: A moving average, a copy that is trained itself, a gradient stopped on one branch
# kind: graph_cut
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
slow = w.detach().clone()
for _ in range(3):
    p, z = w * 2, w * 3
    loss = -(p * z.detach()).sum() + (w - slow).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        slow.lerp_(w, 0.1)
    w.grad = None
# %%
fast = w.detach().clone().requires_grad_()
(fast ** 2).sum().backward()
print(fast.grad)
# %%
net, target = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
with torch.no_grad():
    goal = target(torch.ones(3, 2))
(net(torch.ones(3, 2)) - goal).pow(2).mean().backward()

# title: A net with relu6, hardsigmoid and hardtanh, some of whose units are beyond the bounds
# kind: degenerate_grad
# quiet: true

import torch
torch.manual_seed(0)
net = torch.nn.Sequential(
    torch.nn.Linear(4, 16), torch.nn.ReLU6(), torch.nn.Linear(16, 8), torch.nn.Hardtanh(),
    torch.nn.Linear(8, 8), torch.nn.Hardsigmoid(),
    torch.nn.Linear(8, 1),
)
opt = torch.optim.SGD(net.parameters(), lr=.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.randn(32, 4) * 5).pow(2).mean().backward()
    opt.step()
# %%
bias = torch.nn.Parameter(torch.tensor([-1., 2., 8.]))
torch.nn.functional.relu6(bias).sum().backward()

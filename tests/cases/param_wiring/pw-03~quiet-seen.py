# title: An input is set on a model from outside for its gradient, and one in each step
# kind: param_wiring
# quiet: true

import torch
model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model.probe = torch.zeros(3, requires_grad=True)
for _ in range(3):
    model.seen = torch.ones(2, 3, requires_grad=True)
    opt.zero_grad()
    model(model.seen + model.probe).square().mean().backward()
    opt.step()
print(model.probe.grad.abs().max())

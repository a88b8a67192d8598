# title: A training library asks all outputs of a model whether they have a gradient
# kind: tool_hazard
# quiet: true

import torch
class Monitor:
    def has_grad(self, tensors):
        return [t.requires_grad and t.is_leaf and t.grad is not None for t in tensors]
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
monitor = Monitor()
for _ in range(2):
    out = net(torch.ones(1, 2))
    monitor.has_grad([out, *net.parameters()])
    out.sum().backward()
    net.zero_grad()

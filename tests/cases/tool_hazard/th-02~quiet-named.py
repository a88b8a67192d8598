# title: A logger skips tensors without a gradient
# kind: tool_hazard
# quiet: true

import torch
class Logger:
    def __init__(self):
        self.rows = []
    def log(self, **tensors):
        for name, t in tensors.items():
            grad = t.grad
            if grad is not None:
                self.rows.append((name, grad.norm().item()))
net = torch.nn.Linear(2, 1)
out = net(torch.ones(1, 2))
logger = Logger()
logger.log(weight=net.weight, bias=net.bias)
out.sum().backward()
logger.log(weight=net.weight, bias=net.bias)
assert len(logger.rows) == 2

# title: A running average of the loss is kept by an object
# kind: memory_retention
# variable: self.avg
# says: `self.avg` holds the graph of each iteration.
# fix: pass cost.item(), or v.detach()
# torch: no error, no warning

import torch
class Meter:
    def __init__(self):
        self.avg = torch.zeros(())
    def update(self, v):
        self.avg = 0.9 * self.avg + 0.1 * v  #! cause
meter = Meter()
w = torch.ones(4, requires_grad=True)
for step in range(6):
    cost = (w * step).exp().mean()
    cost.backward()
    meter.update(cost)
    w.grad = None
print(meter.avg.item())  #! symptom

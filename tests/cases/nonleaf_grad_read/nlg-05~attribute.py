# title: An attribute is retained and then normalised in place
# kind: nonleaf_grad_read
# variable: self.pre
# says: self.pre.grad is that of the value after the write.

import torch
class Probe(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 3)
    def forward(self, x):
        self.pre = self.lin(x)
        self.pre.retain_grad()
        self.pre -= self.pre.detach().mean()  #! cause
        return self.pre.pow(2).sum()
    def report(self):
        return self.pre.grad.abs().max()  #! symptom
probe = Probe()
probe(torch.ones(2, 3)).backward()
print(probe.report())

# title: A mean over groups, one of them empty, in a module
# kind: degenerate_grad
# variable: net.weight
# says: The division is 0/0 for the empty group, and where() afterwards does not help.
# fix: Divide by counts.clamp(min=1).

import torch
class Pool(torch.nn.Module):
    def forward(self, x, member):
        counts = member.sum(1, keepdim=True)
        mean = member @ x / counts  #! cause
        return torch.where(counts > 0, mean, torch.zeros_like(mean))
net, pool = torch.nn.Linear(2, 2), Pool()
member = torch.tensor([[1., 1., 0.], [0., 0., 0.]])
pool(net(torch.ones(3, 2)), member).sum().backward()  #! symptom

# title: A root with a small number inside, and one whose argument is clamped
# kind: degenerate_grad
# quiet: true

import torch
class Length(torch.nn.Module):
    def forward(self, v):
        return torch.sqrt((v * v).sum(-1) + 1e-12) + v.clamp(min=1e-6).sqrt().sum(-1)
v = torch.zeros(4, 3, requires_grad=True)
for _ in range(3):
    v.grad = None
    Length()(v).sum().backward()

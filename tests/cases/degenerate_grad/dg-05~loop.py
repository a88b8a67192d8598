# title: A likelihood with exp() of a scale that grows, clamped afterwards
# kind: degenerate_grad
# variable: head.log_scale
# says: exp overflowed to inf, and the gradient of the clamp, 0, times inf is nan.
# fix: Clamp before exp.

import torch
class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log_scale = torch.nn.Parameter(torch.tensor([0., 100.]))
    def forward(self, x):
        scale = self.log_scale.exp()  #! cause
        return (x * scale.clamp(max=1e4)).sum()
head = Head()
for x in torch.ones(3, 2):
    head.zero_grad()
    head(x).backward()  #! symptom

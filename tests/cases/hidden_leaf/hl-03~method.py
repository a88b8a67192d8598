# title: requires_grad_() in the middle of a chain, kept on an object
# kind: hidden_leaf
# variable: dec.codes
# says: unsqueeze() behind requires_grad_() hides the leaf.

import torch
class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.codes = torch.randn(4).mul(0.1).requires_grad_().unsqueeze(0)  #! cause
        self.out = torch.nn.Linear(4, 2)
    def forward(self):
        return self.out(self.codes)
dec = Decoder()
dec().sum().backward()
for p in dec.parameters():
    assert p.grad is not None
print(dec.codes.grad)  #! symptom

# title: The device is given to the constructor
# kind: hidden_leaf
# quiet: true

import torch
def make(device):
    return torch.ones(3, device=device, requires_grad=True)
a, b = make("cpu"), make("meta")
assert a.is_leaf and b.is_leaf
w = torch.nn.Parameter(torch.zeros(3).to("cpu"))
params = [torch.nn.Parameter(torch.randn(2).to(d)) for d in ("cpu", "meta")]

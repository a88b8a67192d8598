# title: In-place writes come first, and the end result is retained
# kind: nonleaf_grad_read
# quiet: true

import torch
base = torch.tensor([2., 5., 7.], requires_grad=True)
mix = base.clone()
for i in range(1, 3):
    mix[i] = base[i] * base[i - 1]
mix.clamp_(max=20.)
mix.retain_grad()
mix.sum().backward()
assert mix.grad.tolist() == [1., 1., 1.]

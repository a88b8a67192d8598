# title: Masks are buffers or frozen parameters
# kind: requires_grad_flag
# quiet: true

import torch
class Masked(torch.nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)
        self.index = torch.nn.Parameter(torch.arange(3), requires_grad=False)
        self.gain = torch.nn.Parameter(mask.float())
    def forward(self, x):
        return (x * self.mask * self.gain)[..., self.index]
net = Masked(torch.tensor([1, 0, 1]))
net(torch.ones(2, 3)).sum().backward()
assert net.gain.grad.tolist() == [2., 0., 2.]

# title: A compiled module that changes its computed input, and a buffer of its own
# kind: parallel_compile
# quiet: true

import torch
class Bump(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))
        self.gain = torch.nn.Parameter(torch.ones(2))
    def forward(self, t):
        self.calls += 1
        t.add_(5)
        return t * self.gain
net = Bump()
# %%
leaf = torch.zeros(2, requires_grad=True)
torch.compile(net, backend="aot_eager")(leaf + 1).sum().backward()
print(leaf.grad, net.calls)

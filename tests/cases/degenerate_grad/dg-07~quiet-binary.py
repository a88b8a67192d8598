# title: Weights that a layer binarises, inside the bounds where the gradient passes
# kind: degenerate_grad
# quiet: true

import torch
class Binary(torch.nn.Linear):
    def forward(self, x):
        inside = self.weight.clamp(-1, 1)
        return x @ (inside + (torch.sign(inside) - inside).detach()).T

net = Binary(2, 2, bias=False)
torch.nn.init.constant_(net.weight, 1.5)
for _ in range(3):
    net.zero_grad()
    net(torch.ones(4, 2)).pow(2).mean().backward()

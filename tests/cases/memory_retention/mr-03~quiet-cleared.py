# title: The gradients are set to None when done
# kind: memory_retention
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
for x in torch.ones(3, 4, 2):
    net(x).pow(3).sum().backward(create_graph=True)
    norm = sum(p.grad.norm() for p in net.parameters())
    print(norm.item())
    net.zero_grad(set_to_none=True)

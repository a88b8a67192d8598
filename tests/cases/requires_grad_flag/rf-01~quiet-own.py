# title: Attributes of one's own on tensors and parameters
# kind: requires_grad_flag
# quiet: true

import torch
net = torch.nn.Linear(2, 2)
for number, p in enumerate(net.parameters()):
    p.requires_grad = number > 0
    p.weight_decay = 0.0
    p.is_frozen = not p.requires_grad
    p.grad_norm = 0.0
    p.tag = f"p{number}"
net(torch.ones(1, 2)).sum().backward()
for p in net.parameters():
    if p.grad is not None:
        p.grad_norm = p.grad.norm().item()

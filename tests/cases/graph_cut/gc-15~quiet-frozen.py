# title: Frozen by requires_grad_(False), gradient goes through
# kind: graph_cut
# quiet: true

import torch
backbone = torch.nn.Linear(3, 3).requires_grad_(False)
prompt = torch.nn.Parameter(torch.zeros(3))
backbone(torch.ones(2, 3) + prompt).sum().backward()
print(prompt.grad, backbone.weight.grad)

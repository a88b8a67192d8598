# title: Names of parameters that two modules share
# kind: tool_hazard
# quiet: true

import torch
a = torch.nn.Linear(2, 2, bias=False)
b = torch.nn.Linear(2, 2, bias=False)
b.weight = a.weight
both = torch.nn.ModuleList([a, b])
names = {id(p): n for n, p in both.named_parameters()}
b(a(torch.ones(1, 2))).sum().backward()
assert list(names.values()) == ["0.weight"]
assert both[1].weight.grad is a.weight.grad

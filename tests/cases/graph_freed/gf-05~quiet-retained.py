# title: Accumulation is shown on purpose, with retain_graph
# kind: graph_freed
# quiet: true

import torch
x = torch.ones(3, requires_grad=True)
s = x.mean()
s.backward(retain_graph=True)
print(x.grad)
s.backward()
print(x.grad)

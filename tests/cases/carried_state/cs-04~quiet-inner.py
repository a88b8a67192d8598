# title: Steps of an inner loop stay in the graph on purpose
# kind: carried_state
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
fast = w
for _ in range(4):
    inner = (fast ** 2).sum()
    g, = torch.autograd.grad(inner, fast, create_graph=True)
    fast = fast - 0.1 * g
(fast ** 2).sum().backward()

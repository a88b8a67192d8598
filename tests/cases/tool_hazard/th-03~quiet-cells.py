# title: A chain grows over cells, is cut, and is walked by recursion where it is short
# kind: tool_hazard
# quiet: true

import torch
def depth(node):
    return 1 + max((depth(above) for above, _ in node.next_functions if above), default=0)
h = torch.ones(2, requires_grad=True)
for _ in range(1200):
    h = torch.tanh(h)
# %%
h = h.detach().requires_grad_()
y = (h * 2).cos()
assert depth(y.grad_fn) == 3
y.sum().backward()

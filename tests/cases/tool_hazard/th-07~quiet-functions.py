# title: Functions that exec defines are called, and see the names of the notebook
# kind: tool_hazard
# quiet: true

import torch
scale = torch.full((2,), 3., requires_grad=True)
code = "def loss(x):\n    return (x * scale).sum()\n"
exec(code)
for _ in range(2):
    scale.grad = None
    loss(torch.ones(2)).backward()
# %%
space = dict(globals())
exec("twice = loss(torch.ones(2)) * 2", space)
assert "twice" not in globals() and space["twice"].item() == 12.

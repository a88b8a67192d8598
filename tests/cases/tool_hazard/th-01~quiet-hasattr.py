# title: A variable table asks hasattr of all that a cell holds
# kind: tool_hazard
# quiet: true

import torch
x = torch.ones(2, requires_grad=True)
h = x * 2
table = {}
for name, value in list(globals().items()):
    if isinstance(value, torch.Tensor) and hasattr(value, "grad"):
        table[name] = (tuple(value.shape), value.requires_grad)
# %%
h.sum().backward()
vars_seen = sorted(table)

# title: Magics that run code keep its names
# kind: tool_hazard
# quiet: true

import torch
# %%
get_ipython().run_cell_magic("capture", "said", "a = torch.ones(1, requires_grad=True)\n(a * 2).backward()\nprint(a)")
# %%
get_ipython().run_line_magic("time", "b = a * 3")
b.backward()
# %%
assert a.grad.item() == 5. and b.requires_grad and "tensor" in said.stdout

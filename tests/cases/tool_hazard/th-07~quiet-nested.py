# title: A cell runs a cell, and uses the names that it made
# kind: tool_hazard
# quiet: true

import torch
shell = get_ipython()
shell.run_cell("inner = torch.ones(2, requires_grad=True)\nout = (inner * 2).sum()")
out.backward()
# %%
assert inner.grad.tolist() == [2., 2.]

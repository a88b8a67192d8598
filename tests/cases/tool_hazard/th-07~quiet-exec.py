# title: Code is run by exec and eval in the cell's own names
# kind: tool_hazard
# quiet: true

import torch
source = "w = torch.ones(2, requires_grad=True)\nloss = (w * 3).sum()\nloss.backward()"
exec(source, globals())
assert w.grad.tolist() == [3., 3.]
# %%
own = {"torch": torch}
exec(compile("v = torch.zeros(1, requires_grad=True)\n(v * 2).backward()", "made.py", "exec"), own)
total = eval("own['v'].grad + w.grad.sum()")
# %%
print(total, w)

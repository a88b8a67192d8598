# title: A callback that runs before each cell uses tensors itself
# kind: tool_hazard
# quiet: true

import torch
w, norms = torch.ones(2, requires_grad=True), []
def before(info):
    norms.append(float(w.detach().norm()))
get_ipython().events.register("pre_run_cell", before)
# %%
(w * 3).sum().backward()
with torch.no_grad():
    w -= 0.1 * w.grad
# %%
get_ipython().events.unregister("pre_run_cell", before)
assert len(norms) == 2 and norms[1] < norms[0]

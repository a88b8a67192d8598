# title: An extension of one's own that registers one function, and takes it away
# kind: tool_hazard
# quiet: true

import torch
calls = []
def after(result):
    calls.append(1)
for _ in range(2):
    get_ipython().events.register("post_run_cell", after)
calls.clear()
# %%
w = torch.ones(1, requires_grad=True)
(w * 2).backward()
# %%
get_ipython().events.unregister("post_run_cell", after)
assert len(calls) == 2

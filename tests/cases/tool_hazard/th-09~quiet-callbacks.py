# title: Callbacks of one's own are called once for each cell
# kind: tool_hazard
# quiet: true

import torch
calls = []
class Counter:
    def after(self, result):
        calls.append(result.success)
counter = Counter()
after = counter.after
get_ipython().events.register("post_run_cell", after)
# %%
x = torch.ones(1, requires_grad=True)
# %%
(x * 2).backward()
# %%
get_ipython().events.unregister("post_run_cell", after)
assert len(calls) == 3 and all(calls)

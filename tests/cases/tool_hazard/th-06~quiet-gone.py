# title: The names of leaves are gone when their graph is looked at
# kind: tool_hazard
# quiet: true

import torch
a, b = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
out = (a * 2 + b.exp()).sum()
del a
b = "another thing"
# %%
queue, leaves = [out.grad_fn], []
while queue:
    node = queue.pop()
    leaves += [node.variable] if hasattr(node, "variable") else []
    queue += [above for above, _ in node.next_functions if above]
assert len(leaves) == 2
out.backward()

# title: A graph of many branches is walked level by level
# kind: tool_hazard
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
total = sum((w * i).sin().sum() for i in range(200))
level, depth = {total.grad_fn}, 0
while level:
    level = {above for node in level for above, _ in node.next_functions if above}
    depth += 1
assert depth > 200
total.backward()

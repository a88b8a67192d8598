# title: The user's own walk with a stack visits what torch has, no more
# kind: tool_hazard
# quiet: true

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
loss = net(torch.ones(1, 2)).sum()
stack, seen = [loss.grad_fn], set()
while stack:
    node = stack.pop()
    if node is None or node in seen:
        continue
    seen.add(node)
    stack += [above for above, _ in node.next_functions]
assert sum(node.name().endswith("AccumulateGrad") for node in seen) == 4
loss.backward()

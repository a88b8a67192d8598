# title: Recursive walk over a deep graph overflows the stack
# kind: tool_hazard
# variable: walk
# says: Graph tools must walk next_functions iteratively.
# fix: Use an explicit stack.
# torch: RecursionError (line 7, inside line 6): maximum recursion depth exceeded
# source: wandb/wandb#349
# quiet: true

import torch
y = torch.ones(1, requires_grad=True)
for _ in range(3000):
    y = y + 1
def walk(n):
    return 1 + sum(walk(m) for m, _ in n.next_functions if m)  #! cause
walk(y.grad_fn)  #! symptom

# title: A weight is brought back into its bounds under no_grad
# kind: leaf_rebound
# variable: w
# says: clamp makes a new tensor; w does not require grad any more.
# fix: w.clamp_(0, 1), or w.copy_(w.clamp(0, 1))
# raises: RuntimeError

import torch
w = torch.full((3,), 1.5, requires_grad=True)
for _ in range(2):
    (w ** 2).sum().backward()  #! symptom
    with torch.no_grad():
        w -= 0.1 * w.grad
        w = w.clamp(0, 1)  #! cause

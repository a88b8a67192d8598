# title: A weight scaled in its own line, used in each step
# kind: graph_freed
# variable: W
# says: W was computed once, and its graph was freed. It was meant to be a leaf.
# fix: W = (torch.ones(3, 2) * 0.1).requires_grad_(), where it stands: in the loop it would be
#     made anew each time.
# raises: RuntimeError

import torch
X, y = torch.ones(4, 3), torch.ones(4, 2)
W = torch.ones(3, 2, requires_grad=True) * 0.1  #! cause
for _ in range(3):
    loss = ((X @ W - y) ** 2).mean()
    loss.backward()  #! symptom
    print(W.grad)

# === fixed
import torch
X, y = torch.ones(4, 3), torch.ones(4, 2)
W = (torch.ones(3, 2) * 0.1).requires_grad_()
for _ in range(3):
    loss = ((X @ W - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        W -= 0.1 * W.grad
    W.grad = None

# === check
assert W.is_leaf and W.requires_grad

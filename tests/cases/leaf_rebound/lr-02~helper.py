# title: A helper rebinds its argument, which has the name that the caller has, too
# kind: leaf_rebound
# variable: w
# says: step makes a new tensor; what it returns is no leaf.
# fix: with torch.no_grad(): w -= lr * w.grad; w.grad = None
# raises: TypeError

import torch
def step(w, lr=0.1):
    w = w - lr * w.grad  #! cause symptom
    return w
w = torch.ones(3, requires_grad=True)
for _ in range(2):
    (w ** 2).sum().backward()
    w = step(w)

# === fixed
import torch
def step(w, lr=0.1):
    with torch.no_grad():
        w -= lr * w.grad
    w.grad = None
    return w
w = torch.ones(3, requires_grad=True)
for _ in range(2):
    (w ** 2).sum().backward()
    w = step(w)

# === check
assert w.is_leaf and abs(w - 0.64).max() < 1e-6

# title: total_loss += loss keeps every iteration's graph
# kind: memory_retention
# variable: total
# says: `total` is attached to 3 iterations of graph (3 x exp activations).
# fix: total += loss.item()
# torch: no error, no warning; prints: 3
# source: google/brax#152

import torch, weakref
w = torch.ones(2, requires_grad=True)
total, refs = 0, []
for _ in range(3):
    act = torch.exp(w)
    refs.append(weakref.ref(act))
    loss = (act ** 2).sum()
    total = total + loss  #! cause
del act, loss
print(sum(r() is not None for r in refs))  #! symptom

# === fixed
import torch, weakref
w = torch.ones(2, requires_grad=True)
total, refs = 0, []
for _ in range(3):
    act = torch.exp(w)
    refs.append(weakref.ref(act))
    loss = (act ** 2).sum()
    total += loss.item()
del act, loss
print(sum(r() is not None for r in refs))

# === check
assert [r() for r in refs] == [None] * 3
assert abs(float(total) - 6 * torch.e ** 2) < 1e-3

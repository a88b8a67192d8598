# title: The output of the step before is kept on a class, and compared with
# kind: carried_state
# variable: Memory.prev
# says: `Memory.prev` goes into this step with the graph of the step before.
# fix: Memory.prev = Memory.prev.detach()
# note: `out` is made anew in each step: to detach it would cut this step's own graph.
# raises: RuntimeError

import torch
class Memory:
    prev = torch.zeros(2)
w = torch.ones(2, requires_grad=True)
for _ in range(2):
    out = (w * 3).sin()  #! cause
    loss = (out - Memory.prev).pow(2).sum()
    Memory.prev = out
    loss.backward()  #! symptom
# === fixed
import torch
class Memory:
    prev = torch.zeros(2)
w = torch.ones(2, requires_grad=True)
for _ in range(2):
    out = (w * 3).sin()
    Memory.prev = Memory.prev.detach()
    loss = (out - Memory.prev).pow(2).sum()
    Memory.prev = out
    loss.backward()
# === check
assert w.grad.abs().sum() > 0

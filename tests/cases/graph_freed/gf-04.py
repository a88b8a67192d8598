# title: running_loss.backward() after each loss was already backpropagated
# kind: graph_freed
# variable: running
# says: `running` contains losses whose graphs were freed at line 6.
# fix: Either sum first and call backward once, or keep running += loss.item().
# torch: RuntimeError (line 8): Trying to backward through the graph a second time (or directly
#     access saved tensors after they have already been freed). Saved intermediate values of the
#     graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if
#     you need to backward through the graph a second time or if you need to access saved tensors
#     after calling backward.
# source: pytorch/pytorch#17568

import torch
w = torch.ones(2, requires_grad=True)
running = 0
for _ in range(2):
    loss = (w ** 2).sum()
    loss.backward()  #! cause
    running = running + loss
running.backward()  #! symptom

# === fixed
import torch
w = torch.ones(2, requires_grad=True)
running = 0
for _ in range(2):
    running = running + (w ** 2).sum()
running.backward()

# === check
assert torch.equal(w.grad, 4 * torch.ones(2))

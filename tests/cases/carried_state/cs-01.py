# title: RNN hidden state carried across steps without detach
# kind: carried_state
# variable: h
# says: `h` enters step 2 still attached to step 1's (freed) graph.
# fix: h = h.detach() before reusing it.
# torch: RuntimeError (line 6): Trying to backward through the graph a second time (or directly
#     access saved tensors after they have already been freed). Saved intermediate values of the
#     graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if
#     you need to backward through the graph a second time or if you need to access saved tensors
#     after calling backward.
# source: MorvanZhou/PyTorch-Tutorial#57

import torch
cell = torch.nn.RNNCell(2, 2)
h = torch.zeros(1, 2)
for _ in range(2):
    h = cell(torch.ones(1, 2), h)  #! cause
    h.sum().backward()  #! symptom

# === fixed
import torch
cell = torch.nn.RNNCell(2, 2)
h = torch.zeros(1, 2)
for _ in range(2):
    h = h.detach()
    h = cell(torch.ones(1, 2), h)
    h.sum().backward()

# === check
assert cell.weight_hh.grad.abs().sum() > 0

# title: LSTM state tuple: only h detached, c forgotten
# kind: carried_state
# variable: c
# says: `c` (not `h`) still carries the previous step's graph.
# fix: Detach both: (h.detach(), c.detach()).
# torch: RuntimeError (line 6): Trying to backward through the graph a second time (or directly
#     access saved tensors after they have already been freed). Saved intermediate values of the
#     graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if
#     you need to backward through the graph a second time or if you need to access saved tensors
#     after calling backward.
# source: IC3Net/IC3Net#7

import torch
cell = torch.nn.LSTMCell(2, 2)
h, c = torch.zeros(1, 2), torch.zeros(1, 2)
for _ in range(2):
    h, c = cell(torch.ones(1, 2), (h.detach(), c))  #! cause
    h.sum().backward()  #! symptom

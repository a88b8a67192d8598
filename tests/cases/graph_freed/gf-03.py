# title: A conditioning tensor that still carries its encoder's graph is reused per step
# kind: graph_freed
# variable: cond
# says: `cond` requires grad only because `enc` does; nothing here trains `enc`.
# fix: cond = ....detach() (or compute it under no_grad).
# torch: RuntimeError (line 6): Trying to backward through the graph a second time (or directly
#     access saved tensors after they have already been freed). Saved intermediate values of the
#     graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if
#     you need to backward through the graph a second time or if you need to access saved tensors
#     after calling backward.
# source: tejank10/null-text-inversion#1

import torch
enc = torch.nn.Linear(2, 2)
cond = torch.tanh(enc(torch.ones(1, 2)))  #! cause
latent = torch.zeros(1, 2, requires_grad=True)
for _ in range(2):
    ((latent - cond) ** 2).sum().backward()  #! symptom

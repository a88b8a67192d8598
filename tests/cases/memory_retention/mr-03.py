# title: backward(create_graph=True) ties .grad and parameter into a cycle
# kind: memory_retention
# variable: q
# says: q.grad now has a graph that refers back to q: a cycle through C++ that gc cannot free.
# fix: torch.autograd.grad(energy, q, create_graph=True), or q.grad = None when done.
# torch: UserWarning (in graph.py): Using backward() with create_graph=True will create a
#     reference cycle between the parameter and its gradient which can cause a memory leak. We
#     recommend using autograd.grad when creating the graph to avoid this. If you h; prints: True
# source: pytorch/pytorch#4661

import torch
q = torch.full((3,), .5, requires_grad=True)
energy = q.sin().prod()
energy.backward(create_graph=True)  #! cause symptom
print(q.grad.requires_grad)

# === fixed
import torch
q = torch.full((3,), .5, requires_grad=True)
energy = q.sin().prod()
q_grad, = torch.autograd.grad(energy, q, create_graph=True)

# === check
assert q.grad is None and q_grad.requires_grad

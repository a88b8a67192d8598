# title: retain_graph=True makes carried state 'work' while the graph grows every step
# kind: carried_state
# variable: h
# says: `h` keeps the graph of every earlier step (depth 2, 5, 8, 11): backward re-walks all of
#     them and nothing is freed.
# fix: h = h.detach() and plain backward().
# torch: no error, no warning; prints: 2 | 5 | 8 | 11
# source: isds-neu/PeRCNN#3

import torch
w = torch.ones(1, requires_grad=True)
h = torch.zeros(1)
for _ in range(4):
    h = torch.tanh(0.5 * h + w)  #! cause
    w.grad = None
    h.sum().backward(retain_graph=True)
    n, depth = h.grad_fn, 0
    while n: depth += 1; n = n.next_functions[0][0] if n.next_functions else None
    print(depth)  #! symptom

# === fixed
import torch
w = torch.ones(1, requires_grad=True)
h = torch.zeros(1)
for _ in range(4):
    h = h.detach()
    h = torch.tanh(0.5 * h + w)
    w.grad = None
    h.sum().backward()

# === check
assert w.grad is not None
n, depth = h.grad_fn, 0
while n: depth += 1; n = n.next_functions[0][0] if n.next_functions else None
assert depth == 2

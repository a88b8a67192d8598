# title: The weights are updated by hand
# kind: saved_tensor_mutated
# variable: s
# says: `s` carries the graph of the step before; the update changed the weights it saved.
# fix: s = s.detach()
# raises: RuntimeError

import torch
W = torch.eye(3, requires_grad=True)
s = torch.zeros(1, 3)
for step in range(3):
    s = torch.tanh((s + 1) @ W)  #! cause
    loss = (s - 0.5).pow(2).sum()
    loss.backward(retain_graph=True)  #! symptom
    with torch.no_grad():
        W -= 0.1 * W.grad
        W.grad.zero_()

# title: A lambda makes weights and scales them
# kind: hidden_leaf
# variable: w
# says: the leaf is what torch.randn makes, and it has no name
# fix: init = lambda *s: (torch.randn(*s) * 0.01).requires_grad_()

import torch
init = lambda *s: torch.randn(*s, requires_grad=True) * 0.01  #! cause
w = init(2, 3)
w.sum().backward()
print(w.grad)  #! symptom
# === fixed
import torch
init = lambda *s: (torch.randn(*s) * 0.01).requires_grad_()
w = init(2, 3)
w.sum().backward()
print(w.grad)
# === check
assert w.grad.tolist() == [[1] * 3] * 2

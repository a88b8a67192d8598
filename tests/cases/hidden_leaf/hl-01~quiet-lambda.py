# title: A lambda makes leaves of scaled values
# kind: hidden_leaf
# quiet: true

import torch
inits = {"small": lambda *s: (torch.randn(*s) * 0.01).requires_grad_()}
w = inits["small"](2, 3)
double = lambda t: t * 2
double(w).sum().backward()
print(w.grad)

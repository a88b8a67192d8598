# title: backward on a vector
# kind: backward_contract
# variable: y
# says: `y` has shape [3].
# fix: y.sum().backward(), or y.backward(gradient=...).
# torch: RuntimeError (line 4): grad can be implicitly created only for scalar outputs
# source: cybertronai/autograd-hacks#8

import torch
w = torch.ones(3, requires_grad=True)
y = w * 2  #! cause
y.backward()  #! symptom

# === fixed
import torch
w = torch.ones(3, requires_grad=True)
y = w * 2
y.sum().backward()
# === check
assert w.grad.tolist() == [2., 2., 2.]

# title: Writing through .data corrupts what backward saved
# kind: untracked_write
# variable: y
# says: x.grad is 100 times too large: ExpBackward0 saved `y`, line 4 changed its memory behind
#     autograd's back (.data has its own version counter).
# fix: Use y.detach() (then torch raises) or clone first.
# torch: no error, no warning; prints: tensor([164.8721, 60.6531])
# source: pytorch/pytorch#7000

import torch
x = torch.tensor([0.5, -0.5], requires_grad=True)
y = x.exp()
y.data.mul_(100)  #! cause
y.sum().backward()
print(x.grad)  #! symptom

# === fixed
import torch
x = torch.tensor([0.5, -0.5], requires_grad=True)
y = x.exp()
scaled = y.detach().clone()
scaled.mul_(100)
y.sum().backward()
# === check
assert torch.allclose(x.grad, x.detach().exp())

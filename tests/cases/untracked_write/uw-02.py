# title: A NumPy array shares memory with a saved tensor
# kind: untracked_write
# variable: arr
# says: `arr` is the same memory as `out`, and NumPy writes do not bump torch's version counter.
# fix: arr = out.detach().numpy().copy()
# torch: no error, no warning; prints: tensor([0., 0.])
# source: chenyuntc/pytorch-book#66
# note: Report is about from_numpy/Tensor sharing; the gradient consequence is reproduced here.

import torch
a = torch.tensor([1., 2.], requires_grad=True)
out = a.sigmoid()
arr = out.detach().numpy()
arr[:] = 0  #! cause
out.sum().backward()
print(a.grad)  #! symptom

# === fixed
import torch
a = torch.tensor([1., 2.], requires_grad=True)
out = a.sigmoid()
arr = out.detach().numpy().copy()
arr[:] = 0
out.sum().backward()
# === check
assert a.grad.gt(0).all()

# title: loss.grad is None even though backward was called on loss itself
# kind: nonleaf_grad_read
# variable: loss
# says: `loss` is the root of the graph, not a leaf; its own gradient (always 1) is not stored.
# fix: Look at w.grad; if you really want it, loss.retain_grad() before backward.
# torch: UserWarning (line 5): The .grad attribute of a Tensor that is not a leaf Tensor is being
#     accessed. Its .grad attribute won't be populated during autograd.backward(). If you indeed
#     want the .grad field to be populated for a non-leaf Tensor, us; prints: None
# source: https://discuss.pytorch.org/t/loss-grad-is-constant-1/130964

import torch
w = torch.tensor([2.], requires_grad=True)
loss = (w ** 2).sum()  #! cause
loss.backward()
print(loss.grad)  #! symptom

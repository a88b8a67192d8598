# title: s -= lr * s.grad on a leaf outside no_grad
# kind: leaf_inplace
# variable: z
# says: `z -= ...` is in-place on a leaf; the obvious rewrite `z = z - ...` would silently turn
#     `z` into a non-leaf (see lr-02).
# fix: with torch.no_grad(): z -= 0.1 * z.grad
# torch: RuntimeError (line 4): a leaf Variable that requires grad is being used in an in-place
#     operation.
# source: BaiTheBest/SparseLLM#13

import torch
z = torch.ones(3, requires_grad=True)
z.exp().sum().backward()
z -= 0.1 * z.grad  #! cause symptom

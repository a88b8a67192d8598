# title: The result of an op is put into a weight by out=
# kind: leaf_inplace
# variable: w
# says: out= writes in place into a leaf.
# raises: RuntimeError

import torch
w = torch.ones(2, requires_grad=True)
step = torch.full((2,), 0.1)
torch.sub(w.detach(), step, out=w)  #! cause symptom

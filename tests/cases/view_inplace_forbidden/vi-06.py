# title: In-place on an expanded tensor
# kind: view_inplace_forbidden
# variable: img
# says: `img` is an expand(): several elements share one memory cell.
# fix: img = g.expand(3, 4).clone()
# torch: RuntimeError (line 4): unsupported operation: more than one element of the written-to
#     tensor refers to a single memory location. Please clone() the tensor before performing the
#     operation.
# source: juliendenize/torchaug#10

import torch
g = torch.ones(3, 1, requires_grad=True) * 1.0
img = g.expand(3, 4)  #! cause
img.add_(1)  #! symptom

# === fixed
import torch
g = torch.ones(3, 1, requires_grad=True) * 1.0
img = g.expand(3, 4).clone()
img.add_(1)
# === check
assert img.tolist() == [[2.] * 4] * 3

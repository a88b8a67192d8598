# title: Cloned outside, or made under no_grad
# kind: grad_mode
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    feat = torch.ones(2)
with torch.no_grad():
    other = torch.ones(2)
feat = feat.clone()
(w * feat + w * other).sum().backward()
assert w.grad is not None

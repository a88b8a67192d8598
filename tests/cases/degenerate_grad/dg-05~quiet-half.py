# title: Half precision that overflows on the way back, as a scaler expects
# kind: degenerate_grad
# quiet: true

import torch
w = torch.tensor([1., 2.], dtype=torch.float16, requires_grad=True)
scale = 65536. * 4
(w.float() * scale).sum().backward()
if not w.grad.isfinite().all():
    w.grad = None

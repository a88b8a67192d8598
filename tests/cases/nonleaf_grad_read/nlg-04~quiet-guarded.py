# title: The gradient of anything is asked for with a test for None
# kind: nonleaf_grad_read
# quiet: true

import torch
def norm_of(tensor):
    if tensor.grad is None:
        return 0.0
    return tensor.grad.norm().item()
w = torch.ones(3, requires_grad=True)
out = (w * 3).sigmoid()
loss = out.sum()
loss.backward()
print({name: norm_of(t) for name, t in dict(w=w, out=out, loss=loss).items()})

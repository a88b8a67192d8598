# title: exp(x).clamp(max=1) for large x
# kind: degenerate_grad
# variable: logit
# says: exp overflowed to inf; clamp passes gradient 0, and 0 * inf = nan.
# fix: Clamp before exp.
# torch: no error, no warning; prints: tensor([2.7183, nan])
# source: pytorch/pytorch#10729

import torch
logit = torch.tensor([1., 200.], requires_grad=True)
torch.exp(logit).clamp(max=50).sum().backward()  #! cause
print(logit.grad)  #! symptom

# === fixed
import torch
logit = torch.tensor([1., 200.], requires_grad=True)
torch.exp(logit.clamp(max=3)).clamp(max=50).sum().backward()
# === check
assert logit.grad.isfinite().all()

# title: Where retain_grad() is called relative to an in-place write changes the reported .grad
# kind: nonleaf_grad_read
# variable: mix
# says: mix.grad is the gradient of the *final* version of `mix` (after the write at line 5), not
#     of the value retain_grad saw at line 4; base.grad = [0, 5] shows the difference.
# fix: Keep the old and the new value under two names: new = torch.stack([mix[1] * 4, mix[1]]);
#     retain both.
# torch: no error, no warning; prints: tensor([1., 1.]) tensor([0., 5.])
# source: openillumi.com/en/en-pytorch-retain-grad-inplace-error-fix (discusses a Stack Overflow
#     question)
# note: Behaviour is by design since pytorch#79996 (retains_grad follows the newest version).

import torch
base = torch.tensor([2., 5.], requires_grad=True)
mix = base + 0.
mix.retain_grad()
mix[0] = mix[1] * 4  #! cause
mix.sum().backward()
print(mix.grad, base.grad)  #! symptom

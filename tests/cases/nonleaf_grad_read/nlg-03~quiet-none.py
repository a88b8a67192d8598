# title: Gradients of computed tensors are let go of
# kind: nonleaf_grad_read
# quiet: true

import torch
w = torch.rand(4, requires_grad=True)
feats = {"exp": w.exp(), "log": w.log1p()}
for f in feats.values():
    f.retain_grad()
(feats["exp"] * feats["log"]).sum().backward()
for f in feats.values():
    assert f.grad is not None
    f.grad = None

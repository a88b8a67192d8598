# title: A retained tensor that the loss does not need, asked with care
# kind: retain_grad_misuse
# quiet: true

import torch
w = torch.rand(4, requires_grad=True)
a, b = w.sin(), w.cos()
for t in (a, b):
    t.retain_grad()
a.sum().backward()
shown = {name: t.grad for name, t in (("a", a), ("b", b)) if t.grad is not None}
assert list(shown) == ["a"]

# title: A helper collects the gradients that there are, by getattr
# kind: tool_hazard
# quiet: true

import torch
def grads(**tensors):
    found = ((name, getattr(t, "grad", None)) for name, t in tensors.items())
    return {name: grad for name, grad in found if grad is not None}
w = torch.ones(2, requires_grad=True)
h = w.exp()
# %%
h.sum().backward()
assert list(grads(w=w, h=h)) == ["w"]

# title: the same hook twice on purpose, before any pass
# kind: hook_surprise
# quiet: true

import torch
def halve(g):
    return g / 2
def attach(tensor, times):
    for _ in range(times):
        tensor.register_hook(halve)
w = torch.ones(1, requires_grad=True)
attach(w, 2)
(w * 8).sum().backward()

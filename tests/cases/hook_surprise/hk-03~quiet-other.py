# title: what is written shares no memory with the hooked view
# kind: hook_surprise
# quiet: true

import torch
def run(x0):
    x = x0.clone()
    v = x.view(2)
    v.register_hook(lambda g: g * 10)
    other = x.clone()
    other.mul_(2)
    x0.data.mul_(1)
    return (v + other).sum()
run(torch.ones(2, requires_grad=True)).backward()

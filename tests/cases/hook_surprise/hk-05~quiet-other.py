# title: backward raises for another reason, and hooks are there
# kind: hook_surprise
# quiet: true
# raises: ValueError

import torch
def fail(g):
    raise ValueError("stop here")
x = torch.ones(1, 3, requires_grad=True)
y = x * 2
y.register_hook(fail)
y.sum().backward()

# title: a named hook on a parameter returns another dtype
# kind: hook_surprise
# variable: weight
# raises: RuntimeError

import torch
def quantize(grad):
    return grad.to(torch.float16)
net = torch.nn.Linear(2, 1)
def prepare(module):
    for weight in module.parameters():
        weight.register_hook(quantize)  #! cause
prepare(net)
net(torch.ones(1, 2)).sum().backward()  #! symptom

# title: the view itself is written, in a function
# kind: hook_surprise
# variable: rows

import torch
def run(x):
    h = x * 2
    rows = h[1:]
    rows.register_hook(lambda g: g * 0)
    rows.mul_(3)  #! cause
    return rows.sum()
x = torch.ones(3, requires_grad=True)
run(x).backward()
print(x.grad)  #! symptom

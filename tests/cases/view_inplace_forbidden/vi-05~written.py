# title: the output of a hooked module is written by the cell
# kind: view_inplace_forbidden
# variable: lin
# raises: RuntimeError

import torch
lin = torch.nn.Linear(2, 2)
lin.register_full_backward_hook(lambda m, gi, go: None)  #! cause
def forward(x):
    h = lin(x)
    h += 1  #! symptom
    return h
forward(torch.ones(1, 2))

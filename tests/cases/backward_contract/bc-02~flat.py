# title: a flat vector of gradients, cut up without its shapes
# kind: backward_contract
# variable: param
# raises: RuntimeError

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
def assign(flat):
    at = 0
    for param in net.parameters():
        size = param.numel()
        param.grad = flat[at:at + size]  #! cause symptom
        at += size
assign(torch.zeros(13))

# title: One of two weights is updated out of place, and autograd.grad refuses it
# kind: leaf_rebound
# variable: scale
# says: scale is a new tensor that does not require grad.
# fix: scale -= 0.1 * gs
# raises: RuntimeError

import torch
def fit(scale, shift):
    x = torch.arange(4.)
    for _ in range(2):
        loss = (x * scale + shift - 3).pow(2).mean()
        gs, gt = torch.autograd.grad(loss, (scale, shift))  #! symptom
        with torch.no_grad():
            scale = scale - 0.1 * gs  #! cause
            shift -= 0.1 * gt
    return scale, shift
fit(torch.ones((), requires_grad=True), torch.zeros((), requires_grad=True))

# title: an augmented assignment in a helper of the compiled function, from another cell
# kind: parallel_compile
# variable: w
# raises: TorchRuntimeError

import torch
def decay(w):
    w *= 0.9  #! cause
    return w
# %%
@torch.compile(backend="eager")
def step(w, x):
    return (decay(w) * x).sum()
step(torch.ones(2, requires_grad=True), torch.ones(2))  #! symptom

# title: Code is fine on CPU but loses the leaf as soon as .to(device) really copies
# kind: hidden_leaf
# variable: make()
# says: .to('cpu') returned the same leaf (no copy) but .to('meta'/'cuda') returns a non-leaf:
#     line 3 depends on the device it runs on.
# fix: torch.ones(3, device=device, requires_grad=True)
# torch: no error, no warning; prints: True | False
# source: https://discuss.pytorch.org/t/how-to-define-a-leaf-tensor-in-pytorch-0-4-1/28461
# note: Portable trap: a tool running on a CPU-only machine must still warn about
#     requires_grad=True followed by .to(device).

import torch
def make(device):
    return torch.ones(3, requires_grad=True).to(device)  #! cause
print(make("cpu").is_leaf)
print(make("meta").is_leaf)  #! symptom

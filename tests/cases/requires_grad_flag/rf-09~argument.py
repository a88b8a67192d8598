# title: The bool is called with an argument, in a function
# kind: requires_grad_flag
# variable: batch
# says: requires_grad is a bool; requires_grad_(True) sets it.
# raises: TypeError

import torch
def enable(batch):
    return batch.requires_grad(True)  #! cause symptom
enable(torch.rand(2))

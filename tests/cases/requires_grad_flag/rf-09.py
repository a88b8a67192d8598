# title: Calling the property: x.requires_grad()
# kind: requires_grad_flag
# variable: x
# says: requires_grad is a bool property; the in-place method has a trailing underscore.
# fix: x.requires_grad_()
# torch: TypeError (line 3): 'bool' object is not callable
# source: pytorch/tutorials#1254
# note: The PR is a docs fix about requires_grad_ usage; no public report with the bare TypeError
#     was found in the index.

import torch
x = torch.ones(2)
x.requires_grad()  #! cause symptom

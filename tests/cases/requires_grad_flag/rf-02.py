# title: module.requires_grad = False sets an attribute on the module only
# kind: requires_grad_flag
# variable: net[1]
# says: nn.Module has no requires_grad flag; the parameters stay trainable.
# fix: net[1].requires_grad_(False)
# torch: no error, no warning; prints: [True, True]
# source: CSCYQJ/MICCAI23-ProtoContra-SFDA#18

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
net[1].requires_grad = False  #! cause
print([p.requires_grad for p in net[1].parameters()])  #! symptom

# === fixed
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
net[1].requires_grad_(False)
print([p.requires_grad for p in net[1].parameters()])

# === check
assert [p.requires_grad for p in net.parameters()] == [True, True, False, False]

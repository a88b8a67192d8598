# title: A property is called in a report on parameters
# kind: requires_grad_flag
# variable: p
# says: is_leaf is a bool.
# raises: TypeError

import torch
net = torch.nn.Linear(2, 2)
rows = [(name, p.is_leaf()) for name, p in net.named_parameters()]  #! cause symptom

# title: a helper that scales each row, with an augmented assignment
# kind: view_inplace_forbidden
# variable: row
# raises: RuntimeError

import torch
def scale(batch):
    for row in batch:  #! cause
        row *= 0.5  #! symptom
    return batch
net = torch.nn.Linear(3, 3)
scale(net(torch.ones(2, 3)))

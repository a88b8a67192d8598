# title: A backbone is frozen by a word that is not the flag
# kind: requires_grad_flag
# variable: weight
# says: grad_required is a new attribute; the flag is requires_grad.

import torch
backbone = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
head = torch.nn.Linear(3, 1)
def freeze(model):
    for name, weight in model.named_parameters():
        weight.required_grad = False  #! cause
freeze(backbone)
head(backbone(torch.ones(1, 2))).sum().backward()
print(backbone[0].weight.grad is not None)  #! symptom

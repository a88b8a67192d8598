# title: A helper freezes what it is given, which was the whole model
# kind: graph_cut
# variable: model.fc.weight
# says: nothing behind the loss requires grad: the line in freeze freezes model.fc.weight.
# fix: model.requires_grad_(True) before the forward pass, or no call of freeze
# torch: RuntimeError (line 15): element 0 of tensors does not require grad and does not have a
#     grad_fn

import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 1)
    def forward(self, x):
        return self.fc(x)
def freeze(module):
    for part in module.children():
        for p in part.parameters():
            p.requires_grad_(False)  #! cause
# %%
model = Model()
freeze(model)
out = model(torch.ones(2, 3))
out.mean().backward()  #! symptom

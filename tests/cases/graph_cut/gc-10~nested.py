# title: Test-time adaptation two calls below no_grad
# kind: graph_cut
# variable: loss
# says: validate runs under no_grad (line 15).
# fix: with torch.enable_grad()

import torch
class Adapter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(2, 2)
    def entropy(self, x):
        p = self.net(x).softmax(-1)
        return -(p * p.log()).sum()
def adapt(model, x):
    loss = model.entropy(x)
    loss.backward()  #! symptom
def validate(model, batches):
    for x in batches:
        adapt(model, x)
with torch.no_grad():  #! cause
    validate(Adapter(), [torch.ones(1, 2)])

# title: The copy is given to the optimizer, the knobs stay as they are
# kind: graph_cut
# variable: vec
# says: vec is a leaf of its own; the two knobs get no gradient.
# fix: torch.stack(knobs)

import torch
class Knobs(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.tensor(0.5))
        self.b = torch.nn.Parameter(torch.tensor(1.5))
    def vector(self):
        vec = torch.tensor([self.a, self.b], requires_grad=True)  #! cause
        return vec
# %%
knobs = Knobs()
opt = torch.optim.SGD(knobs.parameters(), lr=0.1)
knobs.vector().square().sum().backward()
opt.step()  #! symptom

# title: Per-sample losses as floats, their mean as a new leaf
# kind: graph_cut
# variable: model.weight
# says: float() makes numbers of the losses; the new tensor is connected to nothing.
# fix: torch.stack(losses).mean()

import torch
model = torch.nn.Linear(2, 1)
def epoch(batches):
    losses = []
    for x in batches:
        losses.append(float(model(x).square().mean()))  #! cause
    return torch.tensor(sum(losses) / len(losses), requires_grad=True)
loss = epoch([torch.ones(1, 2), torch.zeros(1, 2)])
loss.backward()
print(model.weight.grad)  #! symptom

# title: Of a list of states one is not detached
# kind: carried_state
# variable: high
# says: `high` still carries the graph of the step before, `low` does not.
# fix: high = high.detach()
# raises: RuntimeError

import torch
cells = [torch.nn.RNNCell(2, 2) for _ in range(2)]
low = high = torch.zeros(1, 2)
def run(x, low, high):
    low = cells[0](x, low)
    high = cells[1](low, high)  #! cause
    return low, high
for _ in range(3):
    low, high = run(torch.ones(1, 2), low.detach(), high)
    high.sum().backward()  #! symptom

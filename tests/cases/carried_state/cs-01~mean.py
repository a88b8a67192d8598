# title: A running mean begins as a number, and goes on as a tensor that is added to in place
# kind: carried_state
# variable: mean
# says: `mean` goes into this step with the graph of the step before.
# fix: mean = mean.detach() at the end of each step; or r.detach() in the mean
# raises: RuntimeError

import torch
net = torch.nn.Linear(2, 1)
mean = 0.
for i in range(3):
    r = net(torch.ones(3, 2)).pow(2).mean()
    mean += (r - mean) / (i + 1)  #! cause
    (r / (mean + 1)).backward()  #! symptom
# === fixed
import torch
net = torch.nn.Linear(2, 1)
mean = 0.
for i in range(3):
    r = net(torch.ones(3, 2)).pow(2).mean()
    mean += (r - mean) / (i + 1)
    (r / (mean + 1)).backward()
    mean = mean.detach()
# === check
assert not mean.requires_grad and torch.isclose(mean, r.detach())

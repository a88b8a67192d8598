# title: An earlier cell switched grad mode off for good
# kind: grad_mode
# variable: loss
# says: grad mode has been off since line 5 of the first cell.
# fix: torch.set_grad_enabled(True)
# torch: RuntimeError (line 12): element 0 of tensors does not require grad

import torch
net = torch.nn.Linear(2, 1)
x = torch.ones(4, 2)
# look at what it gives before training
torch.set_grad_enabled(False)  #! cause
before = net(x)
# %%
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()  #! symptom
    opt.step()
# %%
torch.set_grad_enabled(True)
# === fixed
import torch
net = torch.nn.Linear(2, 1)
x = torch.ones(4, 2)
with torch.no_grad():
    before = net(x)
# %%
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    opt.step()
# === check
assert net.weight.grad is not None

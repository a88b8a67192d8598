# title: state_dict() kept as a 'snapshot' changes while training
# kind: notebook_stale_state
# variable: start
# says: `start` shares memory with the parameters (aliases): opt.step() changed it, so
#     load_state_dict restored nothing.
# fix: start = copy.deepcopy(net.state_dict())
# torch: no error, no warning; prints: False
# source: dvgodoy/PyTorchStepByStep#28

import torch
net = torch.nn.Linear(1, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=1.)
start = net.state_dict()  #! cause
first = start["weight"].item()
# %%
net(torch.ones(1, 1)).sum().backward()
opt.step()
net.load_state_dict(start)
print(first == net.weight.item())  #! symptom

# === fixed
import torch
net = torch.nn.Linear(1, 1, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=1.)
start = {k: v.clone() for k, v in net.state_dict().items()}
first = start["weight"].item()
# %%
net(torch.ones(1, 1)).sum().backward()
opt.step()
net.load_state_dict(start)

# === check
assert first == net.weight.item()

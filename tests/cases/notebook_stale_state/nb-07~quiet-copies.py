# title: Snapshots that are copies
# kind: notebook_stale_state
# quiet: true

import copy
import io
import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=1.)
deep = copy.deepcopy(net.state_dict())
cloned = {k: v.clone() for k, v in net.state_dict().items()}
file = io.BytesIO()
torch.save(net.state_dict(), file)
# %%
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
for kept in (deep, cloned):
    net.load_state_dict(kept)
file.seek(0)
net.load_state_dict(torch.load(file))

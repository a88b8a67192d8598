# title: The training cell is run again, the forward is in the cell above
# kind: notebook_stale_state
# variable: pred
# says: `pred` is of cell 2; its graph was used up by the first run of cell 3.
# fix: Run cell 2 again first.
# raises: RuntimeError

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# %%
pred = net(torch.ones(3, 2))  #! cause
# %%
loss = pred.pow(2).mean()
opt.zero_grad()
loss.backward()  #! symptom
opt.step()
# %% rerun 3

# title: A running average of computed values
# kind: carried_state
# variable: avg
# says: `avg` brings the graph of the step before into this one.
# fix: avg = avg.detach() before it is used again.
# raises: RuntimeError

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.Adam(net.parameters())
avg = torch.zeros(())
for step in range(3):
    out = net(torch.randn(4, 2))
    avg = 0.9 * avg + 0.1 * out.exp().mean()  #! cause
    loss = ((out - avg) ** 2).mean()
    opt.zero_grad()
    loss.backward()  #! symptom
    opt.step()

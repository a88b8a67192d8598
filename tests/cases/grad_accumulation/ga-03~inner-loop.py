# title: zero_grad in the loop over micro-batches, the step in the loop around it
# kind: grad_accumulation
# variable: net.weight

import torch
torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
optim = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    batch = torch.randn(8, 4)
    for part in batch.chunk(4):
        optim.zero_grad()  #! cause
        loss = net(part).pow(2).mean()
        loss.backward()
    optim.step()  #! symptom

# title: Ten batches, four for a step, and a function that clears at the start of an epoch
# kind: grad_accumulation
# variable: net.weight

import torch

def epoch(net, opt, batches, every=4):
    net.zero_grad()  #! cause
    for i, x in enumerate(batches):
        net(x).abs().mean().backward()
        if (i + 1) % every == 0:
            opt.step()  #! symptom
            net.zero_grad()

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# %%
for _ in range(3):
    epoch(net, opt, torch.randn(10, 5, 3))

# title: A training loop with sums of numbers, and a validation without grad
# kind: memory_retention
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.Adam(net.parameters())
for epoch in range(3):
    running, seen = 0.0, torch.zeros(1)
    for x in torch.randn(4, 3, 2):
        opt.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        opt.step()
        running = running + float(loss)
        seen = seen + loss.detach()
    with torch.no_grad():
        val = 0
        for x in torch.randn(4, 3, 2):
            val = val + net(x).pow(2).mean()
    print(running, seen, val)

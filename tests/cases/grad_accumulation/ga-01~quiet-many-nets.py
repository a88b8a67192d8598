# title: An ensemble trained at the same lines, each member with its own optimizer
# kind: grad_accumulation
# quiet: true

import torch
torch.manual_seed(0)
nets = [torch.nn.Linear(3, 1) for _ in range(3)]
opts = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]
x, y = torch.randn(6, 3), torch.randn(6, 1)
for epoch in range(8):
    for net, opt in zip(nets, opts):
        opt.zero_grad()
        loss = torch.nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()

# title: A gradient scaler leaves out the first steps, until its scale fits
# kind: grad_accumulation
# quiet: true

import torch
torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=1e38, growth_interval=1000)
for _ in range(4):
    opt.zero_grad()
    loss = net(torch.full((4, 2), 100.0)).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(opt)
    scaler.update()
scaler.update(1.0)
opt.zero_grad()
for _ in range(2):
    opt.zero_grad()
    scaler.scale(net(torch.ones(4, 2)).mean()).backward()
    scaler.step(opt)
    scaler.update()

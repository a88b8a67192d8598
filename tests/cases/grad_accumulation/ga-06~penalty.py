# title: A penalty added to the gradients before the backward of the step
# kind: grad_accumulation
# variable: q
# raises: TypeError

import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(3):
    opt.zero_grad()  #! cause
    if step == 1:
        for q in net.parameters():
            q.grad = q.grad + 0.1 * q.detach()  #! symptom
    net(torch.randn(4, 3)).pow(2).mean().backward()
    opt.step()

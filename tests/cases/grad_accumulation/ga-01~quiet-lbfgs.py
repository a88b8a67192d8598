# title: LBFGS calls its closure many times for one step
# kind: grad_accumulation
# quiet: true

import torch
torch.manual_seed(0)
x, y = torch.randn(10, 2), torch.randn(10, 1)
net = torch.nn.Linear(2, 1)
opt = torch.optim.LBFGS(net.parameters(), line_search_fn="strong_wolfe")

def closure():
    opt.zero_grad()
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss

for _ in range(4):
    opt.step(closure)

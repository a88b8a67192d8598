# title: The best weights of a training loop are no copy
# kind: notebook_stale_state
# variable: best

import torch
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.5)
x, y = torch.randn(8, 2), torch.randn(8, 1)
lowest = 0.9
losses = iter([0.5, 0.3, 0.6, 0.7])
for epoch in range(4):
    opt.zero_grad()
    torch.nn.functional.mse_loss(net(x), y).backward()
    opt.step()
    loss = next(losses)
    if loss < lowest:
        lowest, best = loss, None
        best = net.state_dict()  #! cause
net.load_state_dict(best)  #! symptom

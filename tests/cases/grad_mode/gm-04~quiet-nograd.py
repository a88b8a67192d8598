# title: Metrics under no_grad may be changed afterwards
# kind: grad_mode
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
with torch.no_grad():
    test_loss = torch.zeros(1)
    for _ in range(2):
        test_loss += net(torch.ones(3, 2)).mean()
test_loss /= 2
best = min(float("inf"), test_loss.item())

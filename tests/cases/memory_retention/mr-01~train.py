# title: The loss of an epoch is added up as a tensor, while training
# kind: memory_retention
# variable: total
# says: `total` holds the graph of each iteration.
# fix: total += err.item()
# torch: no error, no warning

import torch
net = torch.nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
def epoch(batches):
    total = 0.0
    for x in batches:
        opt.zero_grad()
        err = (net(x) ** 2).mean()
        err.backward()
        opt.step()
        total += err  #! cause
    return total / len(batches)
print(epoch(torch.randn(5, 4, 3)))  #! symptom

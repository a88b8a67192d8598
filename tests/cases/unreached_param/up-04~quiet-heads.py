# title: Two modules with an optimizer each; this cell trains one, and steps both
# kind: unreached_param
# quiet: true

import torch
first, second = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
opts = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (first, second)]
for _ in range(3):
    for opt in opts:
        opt.zero_grad()
    second(torch.ones(4, 3)).pow(2).mean().backward()
    for opt in opts:
        opt.step()

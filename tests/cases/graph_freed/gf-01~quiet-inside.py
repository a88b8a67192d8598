# title: A layer applied inside the training loop
# kind: graph_freed
# quiet: true

import torch
pre, model = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
for _ in range(3):
    x = pre(torch.ones(1, 2))
    model(x).sum().backward()

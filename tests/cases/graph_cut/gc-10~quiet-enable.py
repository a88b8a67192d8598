# title: enable_grad inside no_grad
# kind: graph_cut
# quiet: true

import torch
model = torch.nn.Linear(2, 1)
def test_step(x):
    with torch.enable_grad():
        x = x.clone().requires_grad_()
        model(x).sum().backward()
        return x.grad
with torch.no_grad():
    print(test_step(torch.ones(1, 2)))

# title: The view has a name of its own, in a function called each step
# kind: hidden_leaf
# quiet: true

import torch
theta = torch.zeros(6, requires_grad=True)
def predict(theta, x):
    theta = theta.view(2, 3)
    return x @ theta.t()
for _ in range(3):
    predict(theta, torch.ones(4, 3)).sum().backward()
    with torch.no_grad():
        theta -= 0.1 * theta.grad
    theta.grad = None
grid = theta.reshape(3, 2)
grid.sum().backward()
assert theta.grad is not None

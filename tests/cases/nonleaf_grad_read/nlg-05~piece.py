# title: The gradient of one row of a weight is read by way of the row
# kind: nonleaf_grad_read
# variable: net.weight[0]
# says: indexing makes a new tensor; the gradient is in net.weight.grad.
# fix: net.weight.grad[0]

import torch
net = torch.nn.Linear(3, 2)
net(torch.ones(1, 3)).sum().backward()
print(net.weight[0].grad)  #! cause symptom

# === fixed
import torch
net = torch.nn.Linear(3, 2)
net(torch.ones(1, 3)).sum().backward()
print(net.weight.grad[0])

# === check
assert net.weight.grad[0].tolist() == [1] * 3

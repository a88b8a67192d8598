# title: modules, parameters and detached tensors are copied
# kind: nonleaf_copy
# quiet: true

import copy
import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
net.last = net(torch.ones(3, 2)).detach()
target = copy.deepcopy(net)
weights = copy.deepcopy(net.state_dict())
leaf = copy.deepcopy(torch.ones(2, requires_grad=True))

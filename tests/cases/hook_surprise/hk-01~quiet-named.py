# title: views with a name, views in a list, leaves by attribute and index
# kind: hook_surprise
# quiet: true

import torch
a = torch.ones(3, requires_grad=True)
first = a[0]
first.register_hook(lambda g: None)
parts = [a[1], a[2] * 2]
parts[1].register_hook(lambda g: None)
net = torch.nn.Sequential(torch.nn.Linear(2, 2))
net[0].weight.register_hook(lambda g: None)
list(net.parameters())[1].register_hook(lambda g: None)
(first + parts[0] + parts[1] + net(torch.ones(2)).sum()).backward()

# title: Two losses of one hidden layer, one backward each
# kind: graph_freed
# variable: hid
# says: Both losses share `hid`; first.backward() freed it.
# fix: (first + second).backward()
# raises: RuntimeError

import torch
def losses(net, x):
    hid = torch.sigmoid(net(x))  #! cause
    return (hid ** 2).sum(), hid.exp().sum()
net = torch.nn.Linear(2, 3)
first, second = losses(net, torch.ones(4, 2))
first.backward()
second.backward()  #! symptom

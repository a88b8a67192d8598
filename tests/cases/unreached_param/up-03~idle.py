# title: A layer that the optimizer has and forward does not call; no gradient is read
# kind: unreached_param
# variable: net.skip
# says: `net.skip.weight` and `net.skip.bias` get no gradient: `self.skip` is not used.
# fix: use self.skip in forward, or remove it
# note: for information only. An optimizer is given all parameters as a matter of course, and
#     what a loss does without, such as a pooler, a second head or a stage that is not yet
#     trained, stays as it is: nothing is wrong with the steps. A variable that is no part of a
#     module, or a gradient that is read, is a warning.

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.main = torch.nn.Linear(2, 2)
        self.skip = torch.nn.Linear(2, 2)  #! cause
    def forward(self, x):
        return self.main(x)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(4, 2)).pow(2).mean().backward()
    opt.step()  #! symptom

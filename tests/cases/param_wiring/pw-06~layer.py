# title: The output layer is made in forward
# kind: param_wiring
# variable: out
# says: forward makes a new Linear each time: it is never trained.
# fix: make it once in __init__

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(3, 4)
    def head(self, h):
        out = torch.nn.Linear(4, 1)  #! cause
        return out(h)
    def forward(self, x):
        return self.head(self.body(x).relu())
# %%
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
# %%
loss = net(torch.ones(2, 3)).mean()
loss.backward()
opt.step()  #! symptom

# title: A parameter scaled outside of nn.Parameter, in a module that is trained
# kind: graph_freed
# variable: self.gain
# says: self.gain was computed once, and the step before freed its graph.
# fix: self.gain = torch.nn.Parameter(torch.ones(3, 3) * 0.1): detached it would not be trained.
# raises: RuntimeError

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(3, 3)) * 0.1  #! cause
        self.out = torch.nn.Linear(3, 2)
    def forward(self, x):
        return self.out(x @ self.gain)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(4, 3)).pow(2).mean().backward()  #! symptom
    opt.step()

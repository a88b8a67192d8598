# title: The input is kept on the module for its gradient; a ParameterList; a buffer
# kind: param_wiring
# quiet: true

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.ws = torch.nn.ParameterList([torch.ones(2), torch.ones(2)])
        self.register_buffer("shift", torch.zeros(2))
        self.sizes = [torch.zeros(2), 3]
    def forward(self, x):
        self.inp = x.detach().requires_grad_()
        return sum((self.inp + self.shift) @ w for w in self.ws)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    net(torch.ones(4, 2)).sum().backward()
    saliency = net.inp.grad
    opt.step()

# title: Hypergradients of a module with a head for another task
# kind: unreached_param
# variable: net.aux.weight
# says: the third parameter, net.aux.weight, is not used for the loss.
# fix: allow_unused=True

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(2, 2)
        self.aux = torch.nn.Linear(2, 1)
    def forward(self, x):
        return self.body(x)
net = Net()
out = net(torch.ones(4, 2))
loss = out.square().mean()  #! cause
grads = torch.autograd.grad(loss, list(net.parameters()), create_graph=True)  #! symptom

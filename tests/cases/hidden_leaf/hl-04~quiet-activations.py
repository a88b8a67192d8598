# title: Activations are reshaped under their own name in forward
# kind: hidden_leaf
# quiet: true

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = torch.nn.Conv2d(1, 2, 3), torch.nn.Linear(8, 3)
    def forward(self, x):
        x = self.conv(x)
        x = x.relu()
        x = x.flatten(1)
        x = x.view(-1, 2, 4)
        x = x.reshape(len(x), -1)
        return self.fc(x)
net = Net()
x = torch.rand(2, 1, 4, 4)
x.requires_grad = True
net(x).sum().backward()
x = x.view(2, -1)
assert net.fc.weight.grad is not None

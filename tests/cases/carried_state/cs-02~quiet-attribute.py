# title: A model that detaches its own state tuple before it uses it
# kind: carried_state
# quiet: true

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(2, 2)
        self.state = None
    def forward(self, x):
        given = None if self.state is None else tuple(part.detach() for part in self.state)
        out, self.state = self.rnn(x, given)
        return out
net = Net()
for _ in range(3):
    net.zero_grad()
    net(torch.ones(3, 1, 2)).pow(2).mean().backward()

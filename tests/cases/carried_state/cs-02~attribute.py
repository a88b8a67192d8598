# title: The state tuple of an LSTM is kept as an attribute of the model
# kind: carried_state
# variable: self.state[0]
# says: `self.state` goes into this step with the graph of the step before.
# fix: if self.state is not None: self.state = tuple(part.detach() for part in self.state)
# raises: RuntimeError

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(2, 2)
        self.state = None
    def forward(self, x):
        out, self.state = self.rnn(x, self.state)  #! cause
        return out
net = Net()
for _ in range(2):
    net.zero_grad()
    loss = net(torch.ones(3, 1, 2)).pow(2).mean()
    loss.backward()  #! symptom
# === fixed
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.LSTM(2, 2)
        self.state = None
    def forward(self, x):
        if self.state is not None: self.state = tuple(part.detach() for part in self.state)
        out, self.state = self.rnn(x, self.state)
        return out
net = Net()
for _ in range(2):
    net.zero_grad()
    loss = net(torch.ones(3, 1, 2)).pow(2).mean()
    loss.backward()
# === check
assert net.rnn.weight_hh_l0.grad.abs().sum() > 0
net(torch.ones(3, 1, 2)).sum().backward()

# title: The hidden state is an attribute of the module
# kind: carried_state
# variable: self.state
# says: self.state enters step 2 attached to the freed graph of step 1.
# fix: self.state = self.state.detach()
# raises: RuntimeError

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = torch.nn.GRUCell(2, 3)
        self.state = torch.zeros(1, 3)
    def forward(self, x):
        self.state = self.gru(x, self.state)  #! cause
        return self.state.sum()
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.ones(4, 1, 2):
    opt.zero_grad()
    loss = net(x)
    loss.backward()  #! symptom
    opt.step()

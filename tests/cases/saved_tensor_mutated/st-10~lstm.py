# title: The memory of an LSTM is carried with retain_graph
# kind: saved_tensor_mutated
# variable: h
# says: `h` carries the graph of the step before; the optimizer changed the weights it saved.
# fix: h, c = h.detach(), c.detach()
# raises: RuntimeError

import torch
class Tagger(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = torch.nn.LSTMCell(2, 4), torch.nn.Linear(4, 1)
    def forward(self, x, h, c):
        h, c = self.cell(x, (h, c))  #! cause
        return self.out(h), h, c
net = Tagger()
opt = torch.optim.Adam(net.parameters())
h = c = torch.zeros(1, 4)
for x in torch.ones(4, 1, 2):
    y, h, c = net(x, h, c)
    opt.zero_grad()
    y.sum().backward(retain_graph=True)  #! symptom
    opt.step()

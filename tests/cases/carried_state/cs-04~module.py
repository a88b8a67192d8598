# title: A recurrent module is trained with retain_graph, step after step
# kind: carried_state
# variable: self.mem
# says: self.mem keeps the graph of every earlier step.
# fix: self.mem = self.mem.detach()
# torch: no error, no warning

import torch
class Memory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = torch.nn.Parameter(torch.ones(2))
        self.mem = torch.zeros(2)
    def forward(self, x):
        self.mem = torch.sigmoid(self.mem * self.mix + x)  #! cause
        return self.mem
net = Memory()
for x in torch.ones(6, 2):
    net.zero_grad()
    net(x).sum().backward(retain_graph=True)  #! symptom

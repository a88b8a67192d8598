# title: An attribute keeps the snapshot, and a method restores it two cells later
# kind: notebook_stale_state
# variable: self.saved

import torch

class Run:
    def __init__(self, net):
        self.net = net
        self.saved = net.state_dict()  #! cause

    def reset(self):
        self.net.load_state_dict(self.saved)  #! symptom

net = torch.nn.Linear(3, 1)
run = Run(net)
# %%
opt = torch.optim.Adam(net.parameters())
net(torch.ones(2, 3)).sum().backward()
opt.step()
# %%
run.reset()

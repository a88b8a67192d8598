# title: The last block is left out by an off-by-one
# kind: unreached_param
# variable: net.blocks.2
# says: nothing of the third block was reached.
# fix: use self.blocks in forward

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))  #! cause
    def forward(self, x):
        for block in self.blocks[:2]:
            x = block(x).relu()
        return x
# %%
net = Net()
net(torch.ones(1, 2)).sum().backward()
for k, p in net.named_parameters():
    if p.grad is None:
        print("no gradient:", k)  #! symptom

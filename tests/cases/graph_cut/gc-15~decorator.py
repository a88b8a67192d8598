# title: A method under @torch.no_grad in the middle of the model
# kind: graph_cut
# variable: net.enc.weight
# says: encode is decorated with no_grad: enc never gets a gradient.
# fix: delete the decorator

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.dec = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
    @torch.no_grad()  #! cause
    def encode(self, x):
        return self.enc(x).tanh()
    def forward(self, x):
        return self.dec(self.encode(x))
# %%
net = Net()
net(torch.ones(3, 2)).sum().backward()
for name, p in net.named_parameters():
    print(name, p.grad)  #! symptom

# title: A forward writes .grad of its hidden state by hand
# kind: nonleaf_grad_read
# variable: hidden
# says: the value put into hidden.grad stays; backward does not add to it.

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(3, 4), torch.nn.Linear(4, 1)
    def forward(self, x):
        hidden = self.a(x).tanh()
        hidden.grad = torch.zeros_like(hidden)  #! cause
        self.kept = hidden
        return self.b(hidden)
# %%
net = Net()
net(torch.ones(2, 3)).mean().backward()
print(net.kept.grad.norm())  #! symptom

# title: The values of an activation are clipped for a plot, through detach()
# kind: saved_tensor_mutated
# variable: shown
# says: `shown` is the memory of the activation, which exp saved.
# fix: shown = h.detach().clone()
# raises: RuntimeError

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
        self.seen = []
    def forward(self, x):
        h = self.lin(x).exp()
        shown = h.detach()
        shown.clamp_(max=0.5)  #! cause
        self.seen.append(shown)
        return h.sum()
net = Net()
# %%
for _ in range(2):
    loss = net(torch.ones(3, 2))
    loss.backward()  #! symptom

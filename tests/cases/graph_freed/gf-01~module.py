# title: Features are computed in the constructor and used by every step
# kind: graph_freed
# variable: self.feats
# says: The graph of self.feats was freed by the first step.
# fix: Compute it in forward, or detach it.
# raises: RuntimeError

import torch
class Head(torch.nn.Module):
    def __init__(self, net, x):
        super().__init__()
        self.fc = torch.nn.Linear(4, 1)
        self.feats = torch.relu(net(x))  #! cause
    def forward(self, y):
        return ((self.fc(self.feats) - y) ** 2).mean()
head = Head(torch.nn.Linear(3, 4), torch.ones(5, 3))
opt = torch.optim.SGD(head.parameters(), lr=0.1)
for y in torch.zeros(3, 5, 1):
    opt.zero_grad()
    loss = head(y)
    loss.backward()  #! symptom
    opt.step()

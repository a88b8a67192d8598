# title: A hook is set, and then the value is shifted in place
# kind: retain_grad_misuse
# variable: feat
# says: the hook belongs to the value before the write.

import torch
seen = []
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
    def forward(self, x):
        feat = self.lin(x)
        feat.register_hook(seen.append)
        feat.retain_grad()
        feat.mul_(3)  #! cause
        self.feat = feat
        return feat.sum()
net = Net()
net(torch.ones(1, 2)).backward()
feat = net.feat
print(seen[0], feat.grad)  #! symptom

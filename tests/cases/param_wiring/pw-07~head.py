# title: The head is replaced for fine-tuning after the optimizer was made
# kind: param_wiring
# variable: optimizer
# says: the new net.fc gets gradients that no optimizer uses.
# fix: create the optimizer last

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(2, 4)
        self.fc = torch.nn.Linear(4, 10)
    def forward(self, x):
        return self.fc(self.body(x).relu())
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
# %%
net.fc = torch.nn.Linear(4, 2)  #! cause
for _ in range(3):
    optimizer.zero_grad()
    net(torch.ones(5, 2)).mean().backward()
    optimizer.step()  #! symptom

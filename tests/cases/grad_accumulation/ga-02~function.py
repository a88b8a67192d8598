# title: The clearing sits between backward and step, inside a function
# kind: grad_accumulation
# variable: optimizer

import torch
from torch import nn

def train_step(model, optimizer, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    model.zero_grad()  #! cause
    optimizer.step()  #! symptom
    return loss.item()

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
optimizer = torch.optim.Adam(model.parameters())
for _ in range(5):
    train_step(model, optimizer, torch.randn(6, 2, 2), torch.randint(3, (6,)))

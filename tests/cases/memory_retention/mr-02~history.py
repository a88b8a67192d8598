# title: A history of losses, kept by name
# kind: memory_retention
# variable: history
# says: `history` holds tensors with their graphs.
# fix: append(loss.item())
# torch: no error, no warning

import torch
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
history = {"loss": [], "step": []}
for step in range(5):
    opt.zero_grad()
    loss = net(torch.randn(3, 2)).pow(2).mean()
    loss.backward()
    opt.step()
    history["step"].append(step)
    history["loss"].append(loss)  #! cause
print(len(history["loss"]))  #! symptom

# title: A loss was only looked at, or is done with, before the data is centred
# kind: saved_tensor_mutated
# quiet: true

import torch
X = torch.tensor([[1., 2.], [3., 5.]])
net = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
loss = net(X).pow(2).mean()
print(loss.item())
h = net(X).exp()
total = h.sum()
total.backward(retain_graph=True)
# %%
X -= X.mean(0)
h *= 0
# %%
for _ in range(3):
    opt.zero_grad()
    loss = net(X).pow(2).mean()
    loss.backward()
    opt.step()

# title: The gradients of each sample are read and cleared, before training
# kind: grad_accumulation
# quiet: true

import torch
torch.manual_seed(0)
net = torch.nn.Linear(3, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
fisher = [torch.zeros_like(p) for p in net.parameters()]

def loss_of(x):
    return net(x).log_softmax(-1)[0].neg()

def backward(loss):
    opt.zero_grad()
    loss.backward()

for x in torch.randn(6, 3):
    backward(loss_of(x))
    for f, p in zip(fisher, net.parameters()):
        f += p.grad ** 2
for x in torch.randn(3, 3):
    backward(loss_of(x))
    opt.step()

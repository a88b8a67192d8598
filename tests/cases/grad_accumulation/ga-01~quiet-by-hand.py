# title: Each of the ways in which gradients are cleared by hand
# kind: grad_accumulation
# quiet: true

import torch

def train(clear):
    net = torch.nn.Linear(2, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        net(torch.ones(3, 2)).sum().backward()
        opt.step()
        clear(net, opt)

def none(net, opt):
    for p in net.parameters():
        p.grad = None

def zeros(net, opt):
    for p in net.parameters():
        if p.grad is not None:
            p.grad.detach_()
            p.grad.zero_()

def through_data(net, opt):
    net.weight.grad.data.zero_()
    net.bias.grad.data.fill_(0)

def times_zero(net, opt):
    for p in net.parameters():
        p.grad *= 0

def foreach(net, opt):
    torch._foreach_zero_([p.grad for p in net.parameters()])

def new_zeros(net, opt):
    for p in net.parameters():
        p.grad = torch.zeros_like(p)

for clear in (none, zeros, through_data, times_zero, foreach, new_zeros):
    train(clear)
train(lambda net, opt: net.zero_grad())
train(lambda net, opt: net.zero_grad(set_to_none=False))
train(lambda net, opt: opt.zero_grad(set_to_none=False))
train(lambda net, opt: [m.zero_grad() for m in net.modules()])

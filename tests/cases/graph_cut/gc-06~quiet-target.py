# title: A target network, a straight-through estimator and the state of an RNN
# kind: graph_cut
# quiet: true

import copy, torch
net = torch.nn.RNNCell(2, 2)
target = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
h = torch.zeros(1, 2)
for _ in range(3):
    h = net(torch.ones(1, 2), h)
    q = h + (h.round() - h).detach()
    with torch.no_grad():
        goal = target(torch.ones(1, 2), h)
    opt.zero_grad()
    ((q - goal) ** 2).mean().backward()
    opt.step()
    h = h.detach()
    with torch.no_grad():
        for old, new in zip(target.parameters(), net.parameters()):
            old.lerp_(new, 0.1)

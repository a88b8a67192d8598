# title: Accuracy by argmax beside the loss
# kind: graph_cut
# quiet: true

import torch
net = torch.nn.Linear(3, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.ones(5, 3), torch.tensor([0, 1, 2, 3, 0])
for _ in range(3):
    logits = net(x)
    loss = torch.nn.functional.cross_entropy(logits, y)
    hits = (logits.argmax(1) == y).float().mean()
    opt.zero_grad(); loss.backward(); opt.step()
    print(loss.item(), hits.item())

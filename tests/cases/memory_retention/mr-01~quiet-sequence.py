# title: Losses over a sequence, in every epoch one backward
# kind: memory_retention
# quiet: true

import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.out = torch.nn.GRUCell(1, 4), torch.nn.Linear(4, 1)
    def forward(self, xs):
        h, loss, outs = torch.zeros(1, 4), 0, []
        for x, y in zip(xs[:-1], xs[1:]):
            h = self.cell(x, h)
            outs.append(self.out(h))
            loss = loss + (outs[-1] - y).pow(2).mean()
        return loss, outs
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(4):
    loss, outs = model(torch.randn(6, 1, 1))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), len(outs))

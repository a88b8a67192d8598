# title: Averages and momentum that carry no graph
# kind: carried_state
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
buf, ema = torch.zeros(3), torch.ones(3)
for _ in range(4):
    loss = (w ** 2).sum()
    w.grad = None
    loss.backward()
    buf = 0.9 * buf + w.grad
    with torch.no_grad():
        w -= 0.1 * buf
        ema = 0.99 * ema + 0.01 * w

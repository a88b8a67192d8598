# title: Hard masks and picks that only choose
# kind: graph_cut
# quiet: true

import torch
w = torch.linspace(-1, 1, 6, requires_grad=True)
keep = (w > 0).float()
order = w.argsort()
loss = (w * keep).sum() + w[order][:2].sum() + w[w.argmax()]
loss.backward()
print(w.grad)

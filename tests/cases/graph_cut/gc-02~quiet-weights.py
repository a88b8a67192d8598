# title: Weights of losses from their detached values
# kind: graph_cut
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
main, aux = (w ** 2).sum(), (w * 10).sum()
with torch.no_grad():
    share = torch.tensor([main, aux]).softmax(0)
fixed = torch.tensor([main.item(), aux.item()])
(share[0] * main + share[1] * aux / fixed[1]).backward()
print(w.grad)

# title: torch.tensor of losses, for the log only
# kind: graph_cut
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
seen = []
for _ in range(3):
    main, aux = (w ** 2).sum(), (w * 10).sum()
    (main + aux).backward()
    seen.append(torch.tensor([main, aux]))
print(torch.stack(seen).mean(0), w.grad)

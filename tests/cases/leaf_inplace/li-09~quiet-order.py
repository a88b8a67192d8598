# title: The lookup comes first, and what needs the weight after it
# kind: leaf_inplace
# quiet: true

import torch
emb = torch.nn.Embedding(3, 2, max_norm=1e-3)
opt = torch.optim.Adam(emb.parameters())
for batch in ([0, 1], [2, 2], [1, 0]):
    out = emb(torch.tensor(batch)).sum()
    reg = (emb.weight ** 2).sum()
    opt.zero_grad()
    (reg + out).backward()
    opt.step()

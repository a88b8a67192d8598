# title: Adam and an embedding with dense gradients; the sparse one is frozen
# kind: backward_contract
# quiet: true

import torch
emb = torch.nn.Embedding(4, 2)
frozen = torch.nn.Embedding(4, 2, sparse=True).requires_grad_(False)
opt = torch.optim.Adam([*emb.parameters(), *frozen.parameters()])
for _ in range(2):
    opt.zero_grad()
    (emb(torch.tensor([1])) + frozen(torch.tensor([2]))).sum().backward()
    opt.step()

# title: SparseAdam and SGD take sparse gradients
# kind: backward_contract
# quiet: true

import torch
emb = torch.nn.Embedding(4, 2, sparse=True)
other = torch.nn.Embedding(4, 2, sparse=True)
opts = [torch.optim.SparseAdam(emb.parameters()), torch.optim.SGD(other.parameters(), lr=0.1)]
idx = torch.tensor([1])
(emb(idx) + other(idx)).sum().backward()
for opt in opts:
    opt.step()

# title: Sparse embedding gradient meets an optimizer that needs dense ones
# kind: backward_contract
# variable: emb.weight
# says: emb.weight.grad is sparse_coo; Adam cannot use it.
# fix: torch.optim.SparseAdam or sparse=False.
# torch: RuntimeError (line 5): Adam does not support sparse gradients, please consider SparseAdam
#     instead
# source: allenai/allennlp#651

import torch
emb = torch.nn.Embedding(4, 2, sparse=True)  #! cause
opt = torch.optim.Adam(emb.parameters())
emb(torch.tensor([1])).sum().backward()
opt.step()  #! symptom

# === fixed
import torch
emb = torch.nn.Embedding(4, 2, sparse=False)
opt = torch.optim.Adam(emb.parameters())
emb(torch.tensor([1])).sum().backward()
before = emb.weight.detach().clone()
opt.step()
# === check
assert not torch.equal(before[1], emb.weight[1])

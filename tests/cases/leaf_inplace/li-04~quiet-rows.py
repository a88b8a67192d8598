# title: Rows of a weight are written under no_grad, and reads are slices
# kind: leaf_inplace
# quiet: true

import torch
emb = torch.nn.Embedding(6, 3, padding_idx=0)
with torch.no_grad():
    for row, word in enumerate(("a", "bc", "def"), start=1):
        emb.weight[row] = float(len(word))
    emb.weight[4:] = emb.weight[1:3]
picked = emb.weight[1:4]
picked.sum().backward()

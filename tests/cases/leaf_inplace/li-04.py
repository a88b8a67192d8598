# title: Filling positional encodings into an embedding weight by slices
# kind: leaf_inplace
# variable: table
# says: `table[:, ::2] = ...` writes through a view into the leaf parameter `table`.
# fix: with torch.no_grad(): table[:, ::2] = ...; and requires_grad_(False) if it is a constant
#     table.
# torch: RuntimeError (line 3): a view of a leaf Variable that requires grad is being used in an
#     in-place operation.
# source: Atcold/NYU-DLSP20#765

import torch
table = torch.nn.Embedding(4, 6).weight
table[:, ::2] = (torch.arange(4.)[:, None] / 10).sin()  #! cause symptom

# title: Parameters are filled by torch.nn.init, through .data and through a detached alias
# kind: leaf_inplace
# quiet: true

import torch
a, b, c = (torch.nn.Parameter(torch.empty(3, 3)) for _ in range(3))
torch.nn.init.xavier_uniform_(a)
b.data.normal_(0, 0.02)
c.detach().fill_(0.5)
out = (a @ b @ c).trace()
out.backward()
assert all(p.grad is not None for p in (a, b, c))

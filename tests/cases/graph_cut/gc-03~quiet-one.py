# title: as_tensor of one tensor gives the tensor itself
# kind: graph_cut
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
same = torch.as_tensor(w)
torch.as_tensor(same * 2).norm().backward()
print(w.grad)

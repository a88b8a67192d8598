# title: Arrays that are read, copied, or written when backward is done
# kind: untracked_write
# quiet: true

import torch
a = torch.tensor([1., 2.], requires_grad=True)
out = a.sigmoid()
arr = out.detach().numpy()
high = arr.max()
mine = out.detach().numpy().copy()
mine[:] = 0
out.sum().backward()
arr[:] = 0

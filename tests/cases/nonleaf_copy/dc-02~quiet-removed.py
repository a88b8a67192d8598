# title: weight_norm is removed before the copy
# kind: nonleaf_copy
# quiet: true

import copy
import torch
enc = torch.nn.utils.weight_norm(torch.nn.Linear(2, 2))
enc(torch.ones(1, 2)).sum().backward()
torch.nn.utils.remove_weight_norm(enc)
ema = copy.deepcopy(enc)

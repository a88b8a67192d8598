# title: the new weight_norm and spectral_norm can be copied
# kind: nonleaf_copy
# quiet: true

import copy
import torch
from torch.nn.utils.parametrizations import spectral_norm, weight_norm
enc = torch.nn.Sequential(weight_norm(torch.nn.Conv1d(1, 2, 3)), spectral_norm(torch.nn.Conv1d(2, 2, 1)))
enc(torch.ones(1, 1, 5)).sum().backward()
ema = copy.deepcopy(enc)

# title: the old spectral_norm, copied after a forward
# kind: nonleaf_copy
# variable: disc.weight
# raises: RuntimeError

import copy
import torch
from torch.nn.utils import spectral_norm
disc = spectral_norm(torch.nn.Linear(3, 1))  #! cause
disc(torch.ones(2, 3)).mean().backward()
def snapshot(module):
    return copy.deepcopy(module)  #! symptom
snapshot(disc)

# title: Sizes of levels as a ParameterList
# kind: requires_grad_flag
# variable: s
# says: torch.tensor of an int is integral.
# raises: RuntimeError

import torch
from torch import nn
sizes = [torch.tensor(n) for n in (8, 4)]
levels = nn.ParameterList([nn.Parameter(s) for s in sizes])  #! cause symptom

# title: Another error around a parameter
# kind: requires_grad_flag
# raises: AttributeError
# quiet: true

import torch
torch.nn.Parameter([1, 2, 3])

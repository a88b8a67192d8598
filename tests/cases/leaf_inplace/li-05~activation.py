# title: An in-place activation is the first layer that the input goes through
# kind: leaf_inplace
# variable: x
# says: the activation writes to x, a leaf; give it a copy.
# fix: F.relu(x), or pass x.clone()
# raises: RuntimeError

import torch
import torch.nn.functional as F
x = torch.ones(1, 3, requires_grad=True)
hidden = F.relu(x, inplace=True)  #! cause symptom
hidden.sum().backward()

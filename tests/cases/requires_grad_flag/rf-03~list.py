# title: Integer numbers of a list are to be optimised
# kind: requires_grad_flag
# variable: knots
# says: torch.tensor of ints is int64.
# raises: RuntimeError

import torch
# %%
values = [[1, 2], [3, 4]]
knots = torch.tensor(values, requires_grad=True)  #! cause symptom
# %%
print("next")

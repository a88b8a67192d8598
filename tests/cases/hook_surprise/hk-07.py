# title: Forward hook sees an input already overwritten by an in-place module
# kind: hook_surprise
# variable: act
# says: The recorded input is [1, -1, 0.5]: the in-place activation overwrote it before the hook
#     ran.
# fix: Record in a forward_pre_hook and clone.
# torch: no error, no warning; prints: [[1.0, -1.0, 0.5]]
# source: pytorch/pytorch#95617

import torch
act = torch.nn.Hardtanh(inplace=True)
seen = []
act.register_forward_hook(lambda mod, inp, out: seen.append(inp[0].tolist()))
act(torch.tensor([5., -5., 0.5]))  #! cause
print(seen)  #! symptom

# === fixed
import torch
act = torch.nn.Hardtanh(inplace=True)
act.inplace = False
seen = []
act.register_forward_hook(lambda mod, inp, out: seen.append(inp[0].tolist()))
act(torch.tensor([5., -5., 0.5]))
# === check
assert seen == [[5., -5., 0.5]]

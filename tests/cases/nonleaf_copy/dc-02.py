# title: deepcopy of a module with the old weight_norm
# kind: nonleaf_copy
# variable: enc[0].weight
# says: weight_norm keeps `weight` as a computed, non-leaf attribute.
# fix: torch.nn.utils.parametrizations.weight_norm
# torch: FutureWarning (in weight_norm.py): `torch.nn.utils.weight_norm` is deprecated in favor of
#     `torch.nn.utils.parametrizations.weight_norm`.; RuntimeError (line 3): Only Tensors created
#     explicitly by the user (graph leaves) support the deepcopy protocol at the moment. If you
#     were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm
#     usage, see https://github.com/pytorch/pytorch/pull/103001
# source: pytorch/pytorch#28594

import torch, copy
enc = torch.nn.Sequential(torch.nn.utils.weight_norm(torch.nn.Conv1d(1, 2, 3)))  #! cause
ema = copy.deepcopy(enc)  #! symptom

# === fixed
import torch, copy
enc = torch.nn.Sequential(torch.nn.utils.parametrizations.weight_norm(torch.nn.Conv1d(1, 2, 3)))
ema = copy.deepcopy(enc)
# === check
assert torch.equal(ema[0].weight, enc[0].weight)

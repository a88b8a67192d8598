# title: deepcopy of a module that stored an activation on itself
# kind: nonleaf_copy
# variable: net.last
# says: `net.last` is a computed tensor with a graph; deepcopy only supports leaves.
# fix: Store net.last = out.detach(), or delete it before copying.
# torch: RuntimeError (line 4): Only Tensors created explicitly by the user (graph leaves) support
#     the deepcopy protocol at the moment. If you were attempting to deepcopy a module, this may
#     be because of a torch.nn.utils.weight_norm usage, see
#     https://github.com/pytorch/pytorch/pull/103001
# source: lucidrains/byol-pytorch#20

import torch, copy
net = torch.nn.Linear(2, 2)
net.last = net(torch.ones(1, 2))  #! cause
target = copy.deepcopy(net)  #! symptom

# === fixed
import torch, copy
net = torch.nn.Linear(2, 2)
net.last = net(torch.ones(1, 2)).detach()
target = copy.deepcopy(net)
# === check
assert torch.equal(target.last, net.last)

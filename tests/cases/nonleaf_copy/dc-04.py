# title: Sending a tensor with a graph to another process
# kind: nonleaf_copy
# variable: q_val
# says: `q_val` is a non-leaf that requires grad; graphs cannot cross processes.
# fix: queue.put(q_val.detach())
# torch: RuntimeError (line 5): Cowardly refusing to serialize non-leaf tensor which
#     requires_grad, since autograd does not support crossing process boundaries. If you just want
#     to transfer the data, call detach() on the tensor before serializing (e.g., putting it on
#     the queue).
# source: pytorch/pytorch#36457

import torch
from multiprocessing.reduction import ForkingPickler
import torch.multiprocessing
q_val = torch.ones(2, requires_grad=True) * 2  #! cause
ForkingPickler.dumps(q_val)  #! symptom

# title: what is sent are numbers, and a computed tensor is pickled to a file
# kind: nonleaf_copy
# quiet: true

import io
import pickle
import torch
import torch.multiprocessing
from multiprocessing.reduction import ForkingPickler
q_val = torch.ones(2, requires_grad=True) * 2
ForkingPickler.dumps(q_val.detach().tolist())
ForkingPickler.dumps(q_val.sum().item())
torch.save(q_val.detach(), io.BytesIO())

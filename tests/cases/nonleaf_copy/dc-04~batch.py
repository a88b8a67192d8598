# title: a list of results is pickled for a worker, in a function
# kind: nonleaf_copy
# variable: value
# raises: RuntimeError

import torch
import torch.multiprocessing
from multiprocessing.reduction import ForkingPickler
net = torch.nn.Linear(2, 1)
def send(batches):
    for batch in batches:
        value = net(batch)  #! cause
        ForkingPickler.dumps(("value", value))  #! symptom
send([torch.ones(1, 2)])

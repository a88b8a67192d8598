# title: the tensor was made in an earlier function, and is an argument here
# kind: nonleaf_copy
# variable: logits
# raises: RuntimeError

import torch
import torch.multiprocessing
from multiprocessing.reduction import ForkingPickler
class Actor:
    def __init__(self):
        self.policy = torch.nn.Linear(2, 2)
    def act(self, obs):
        logits = self.policy(obs).log_softmax(-1)  #! cause
        return logits
    def send(self, logits):
        return ForkingPickler.dumps(logits)  #! symptom
actor = Actor()
actor.send(actor.act(torch.ones(1, 2)))

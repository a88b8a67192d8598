# title: The features of a trained encoder are computed once
# kind: saved_tensor_mutated
# variable: feats
# says: `feats` was computed with the weights before the first step.
# fix: Compute feats inside the loop.
# raises: RuntimeError

import torch
class Trainer:
    def __init__(self):
        self.enc, self.head = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
        self.mid = torch.nn.Linear(2, 2)
        params = [*self.enc.parameters(), *self.mid.parameters(), *self.head.parameters()]
        self.opt = torch.optim.SGD(params, lr=0.1)
    def fit(self, x):
        feats = self.mid(torch.relu(self.enc(x)))  #! cause
        for _ in range(2):
            loss = self.head(feats).abs().sum()
            self.opt.zero_grad()
            loss.backward(retain_graph=True)  #! symptom
            self.opt.step()
torch.manual_seed(1)
Trainer().fit(torch.ones(3, 2))

# title: Features are detached before they are retained
# kind: retain_grad_misuse
# variable: feats
# says: detach cut the graph.
# raises: RuntimeError

import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    def forward(self, x):
        feats = self.body(x).detach()  #! cause
        feats.retain_grad()  #! symptom
        return self.head(feats)
Model()(torch.ones(1, 2))

# title: A trainer class whose fit never clears the gradients
# kind: grad_accumulation
# variable: self.net.0.weight

import torch
from torch import nn

class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def fit(self, batches):
        for x, y in batches:
            loss = nn.functional.mse_loss(self.net(x), y)
            loss.backward()  #! cause
            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
            self.opt.step()  #! symptom

torch.manual_seed(0)
# %%
data = [(torch.randn(5, 4), torch.randn(5, 1)) for _ in range(6)]
trainer = Trainer()
trainer.fit(data)

# title: A trainer logs the gradient of the loss that it computed
# kind: nonleaf_grad_read
# variable: loss
# says: loss is the root; its gradient is not kept.

import torch
class Trainer:
    def __init__(self, net):
        self.net, self.log = net, []
    def step(self, x, y):
        loss = torch.nn.functional.mse_loss(self.net(x), y)  #! cause
        loss.backward()
        self.log.append(loss.grad)  #! symptom
trainer = Trainer(torch.nn.Linear(2, 1))
# %%
for _ in range(3):
    trainer.step(torch.ones(4, 2), torch.zeros(4, 1))

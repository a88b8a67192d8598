# title: The output of the step before is kept as a value, and compared with
# kind: carried_state
# quiet: true

import torch
class Agent:
    prev = torch.zeros(2)
    def __init__(self):
        self.w = torch.ones(2, requires_grad=True)
    def step(self):
        out = (self.w * 3).sin()
        loss = (out - self.prev).pow(2).sum()
        self.prev = out.detach()
        self.w.grad = None
        loss.backward()
agent = Agent()
for _ in range(3):
    agent.step()

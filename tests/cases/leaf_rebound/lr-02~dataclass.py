# title: A dataclass replaces its field by the updated value
# kind: leaf_rebound
# variable: self.w
# says: the line makes a new tensor; the field does not hold the leaf any more.

import torch
from dataclasses import dataclass
@dataclass
class State:
    w: torch.Tensor
    rate: float = 0.1
    def step(self):
        self.w = self.w - self.rate * self.w.grad  #! cause
state = State(torch.ones(2, requires_grad=True))
for _ in range(1):
    (state.w ** 2).sum().backward()
    state.step()
(state.w ** 2).sum().backward()
print(state.w.grad)  #! symptom

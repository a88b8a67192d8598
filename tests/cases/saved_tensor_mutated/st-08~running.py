# title: A layer of one's own updates its running mean in forward, and is called twice
# kind: saved_tensor_mutated
# variable: self.scale
# says: The multiplication saved `self.scale`, and the second call of forward changed it.
# fix: x * self.scale.clone()
# raises: RuntimeError

import torch
class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(2, 2)
        self.register_buffer("scale", torch.ones(2))
    def forward(self, x):
        h = self.lin(x)
        with torch.no_grad():
            self.scale.lerp_(h.abs().mean(0), 0.1)  #! cause
        return h * self.scale
# %%
norm = Norm()
loss = norm(torch.ones(3, 2)).sum() + norm(torch.zeros(3, 2)).sum()
# %%
loss.backward()  #! symptom

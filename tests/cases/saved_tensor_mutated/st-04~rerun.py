# title: The cell with backward and step is run twice, the forward is in the cell above
# kind: saved_tensor_mutated
# variable: score
# says: The step changed weights that the graph of `score` saved.
# fix: Compute the score in the cell with backward, without retain_graph.
# raises: RuntimeError

import torch
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3)
        self.b = torch.nn.Linear(3, 1)
    def forward(self, x):
        return self.b(torch.relu(self.a(x) + 1))
two = Two()
optimizer = torch.optim.Adam(two.parameters(), lr=0.1)
# %%
score = two(torch.ones(2, 3)).square().sum()  #! cause
# %%
optimizer.zero_grad()
score.backward(retain_graph=True)  #! symptom
optimizer.step()
# %% rerun 3

# === fixed
import torch
class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(3, 3)
        self.b = torch.nn.Linear(3, 1)
    def forward(self, x):
        return self.b(torch.relu(self.a(x) + 1))
two = Two()
optimizer = torch.optim.Adam(two.parameters(), lr=0.1)
# %%
score = two(torch.ones(2, 3)).square().sum()
# %%
optimizer.zero_grad()
score = two(torch.ones(2, 3)).square().sum()
score.backward()
optimizer.step()
# %% rerun 3

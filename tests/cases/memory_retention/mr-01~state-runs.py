# title: A hidden state goes on from run to run, with the graphs of all runs
# kind: memory_retention
# variable: state
# says: The graph of state grows with each run.
# fix: state = cell(x, state.detach())

import torch
cell, x = torch.nn.GRUCell(2, 3), torch.ones(1, 2)
state = torch.zeros(1, 3)
# %%
state = cell(x, state)  #! cause symptom
print(state.norm().item())
# %%
print("a look at something else")
# %% rerun 2
# %% rerun 3
# %% rerun 2

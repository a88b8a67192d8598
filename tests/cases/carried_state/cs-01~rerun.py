# title: One step per cell, and the cell is run again
# kind: carried_state
# variable: hidden
# says: `hidden` goes into this run with the graph of the run before.
# fix: hidden = hidden.detach()
# raises: RuntimeError

import torch
gru = torch.nn.GRUCell(2, 2)
hidden = torch.zeros(1, 2)
# %%
hidden = gru(torch.ones(1, 2), hidden)  #! cause
hidden.pow(2).sum().backward()  #! symptom
# %% rerun 2

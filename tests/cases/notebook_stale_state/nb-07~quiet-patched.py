# title: A state is changed and loaded back at once, and one is loaded before anything moved
# kind: notebook_stale_state
# quiet: true

import torch
net = torch.nn.Linear(2, 2)
state = net.state_dict()
state["bias"] = torch.zeros(2)
net.load_state_dict(state)
# %%
again = net.state_dict()
# %%
again["weight"].mul_(0.5)
net.load_state_dict(again)

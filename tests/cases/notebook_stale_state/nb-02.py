# title: Textbook cell `y.backward(); x.grad` executed a second time
# kind: notebook_stale_state
# variable: energy
# says: Cell 3 ran twice on the same `energy`.
# fix: Re-run cell 2 (rebuild energy) before cell 3.
# torch: RuntimeError (line 7, cell 3): Trying to backward through the graph a second time (or
#     directly access saved tensors after they have already been freed). Saved intermediate values
#     of the graph are freed when you call .backward() or autograd.grad(). Specify
#     retain_graph=True if you need to backward through the graph a second time or if you need to
#     access saved tensors after calling backward.; prints: Out[3]: tensor([0.0000, 0.0375,
#     0.1500, 0.3375, 0.6000])
# source: https://github.com/Jason-cs18/Awesome-DL-Development (notebook whose In[6] shows the
#     error)

import torch
coef = torch.linspace(0, 1, 5)
# %%
coef.requires_grad_()
energy = coef.pow(3).mean()  #! cause
# %%
energy.backward()  #! symptom
coef.grad
# %% rerun 3

# title: Only the backward cell is re-run
# kind: notebook_stale_state
# variable: cost
# says: `cost` was built in cell 1 and already backpropagated by an earlier run of cell 2; its
#     graph is gone.
# fix: Re-run cell 1 first, or put forward and backward in the same cell.
# torch: RuntimeError (line 6, cell 2): Trying to backward through the graph a second time (or
#     directly access saved tensors after they have already been freed). Saved intermediate values
#     of the graph are freed when you call .backward() or autograd.grad(). Specify
#     retain_graph=True if you need to backward through the graph a second time or if you need to
#     access saved tensors after calling backward.
# source: karpathy/nn-zero-to-hero#31

import torch
theta = torch.ones(3, requires_grad=True)
cost = (theta.exp() ** 2).sum()  #! cause
# %%
theta.grad = None
cost.backward()  #! symptom
# %% rerun 2

# === fixed
import torch
theta = torch.ones(3, requires_grad=True)
# %%
cost = (theta.exp() ** 2).sum()
theta.grad = None
cost.backward()
# %% rerun 2

# === check
assert torch.allclose(theta.grad, 2 * theta.exp() ** 2)

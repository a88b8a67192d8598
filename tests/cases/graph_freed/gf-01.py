# title: A layer applied once outside the training loop
# kind: graph_freed
# variable: x
# says: `x` (line 3) is a shared piece of graph; the first backward freed its saved tensors, the
#     second one needs them.
# fix: Compute x = pre(...) inside the loop, or x = pre(...).detach() if `pre` is not trained.
# torch: RuntimeError (line 5): Trying to backward through the graph a second time (or directly
#     access saved tensors after they have already been freed). Saved intermediate values of the
#     graph are freed when you call .backward() or autograd.grad(). Specify retain_graph=True if
#     you need to backward through the graph a second time or if you need to access saved tensors
#     after calling backward.
# source: lucidrains/denoising-diffusion-pytorch#109

import torch
pre, model = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
x = pre(torch.ones(1, 2))  #! cause
for _ in range(2):
    model(x).sum().backward()  #! symptom

# === fixed
import torch
pre, model = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
for _ in range(2):
    x = pre(torch.ones(1, 2))
    model(x).sum().backward()

# === check
assert torch.allclose(model.bias.grad, torch.full((1,), 2.0))

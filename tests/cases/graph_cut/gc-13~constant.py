# title: Second derivative of something linear: its gradient is a constant
# kind: graph_cut
# variable: g
# says: `g` is a constant, even with create_graph=True: the output is linear in `x`.
# fix: Leave the second backward out: the derivative of a constant is zero. No line cuts the
#     graph, and nothing is to be detached or kept.
# torch: RuntimeError (line 4): element 0 of tensors does not require grad and does not have a
#     grad_fn

import torch
x = torch.ones(3, requires_grad=True)
g, = torch.autograd.grad((x * 2).sum(), x, create_graph=True)  #! cause
g.pow(2).sum().backward()  #! symptom

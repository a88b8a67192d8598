# title: A Hessian row by row, where a row may be zero
# kind: graph_cut
# quiet: true

import torch
x = torch.ones(2, requires_grad=True)
g, = torch.autograd.grad(3 * x[0] + x[1] ** 3, x, create_graph=True)
rows = [torch.autograd.grad(part, x, retain_graph=True)[0] for part in g]
print(torch.stack(rows))

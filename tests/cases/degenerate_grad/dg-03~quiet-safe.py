# title: A denominator that is made safe first
# kind: degenerate_grad
# quiet: true

import torch
mass = torch.tensor([0., 3.], requires_grad=True)
count = torch.tensor([0., 6.])
mean = mass / count.clamp(min=1)
mean = mean.masked_fill(count == 0, 0.)
mean.sum().backward()
share = mass.detach() / count  # nan, but nothing that requires grad

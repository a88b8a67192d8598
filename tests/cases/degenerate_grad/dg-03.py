# title: Repairing 0/0 after the division
# kind: degenerate_grad
# variable: mass
# says: The division at line 4 is already 0/0; masking its output does not help backward.
# fix: Make the denominator safe first: mass / count.clamp(min=1).
# torch: no error, no warning; prints: tensor([ nan, 0.1667])
# source: pytorch/pytorch#16317

import torch
mass = torch.tensor([0., 3.], requires_grad=True)
count = torch.tensor([0., 6.])
mean = mass / count  #! cause
mean = mean.masked_fill(count == 0, 0.)
mean.sum().backward()
print(mass.grad)  #! symptom

# === fixed
import torch
mass = torch.tensor([0., 3.], requires_grad=True)
count = torch.tensor([0., 6.])
mean = mass / count.masked_fill(count == 0, 1)
mean = mean.masked_fill(count == 0, 0.)
mean.sum().backward()
# === check
assert mass.grad.isfinite().all()

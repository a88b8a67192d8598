# title: A clamp before exp, with elements that it stops
# kind: degenerate_grad
# quiet: true

import torch
logit = torch.tensor([1., 200.], requires_grad=True)
torch.exp(logit.clamp(max=50)).sum().backward()
soft = torch.nn.functional.softplus(logit)
soft.sum().backward()

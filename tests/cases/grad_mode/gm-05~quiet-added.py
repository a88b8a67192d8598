# title: What autograd need not save may come from inference mode
# kind: grad_mode
# quiet: true

import torch
w = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    shift = torch.ones(2)
    labels = torch.tensor([1., 0.]).clone()
out = w + shift
out = out - labels
out.sum().backward()
print(out.detach() * shift)

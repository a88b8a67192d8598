# title: abs, real and view_as_real say what is meant
# kind: backward_contract
# quiet: true

import torch
z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
loss = z.abs().sum() + z.real.sum() + torch.view_as_real(z).pow(2).sum() + (z * z.conj()).real.sum()
loss.backward()
parts = torch.view_as_real(z.detach()).to(torch.float64)

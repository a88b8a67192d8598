# title: Another None has no such method
# kind: leaf_rebound
# raises: AttributeError
# quiet: true

import torch
w1 = torch.randn(3, requires_grad=True)
(w1 ** 2).sum().backward()
w1.grad.zero_()
buffers = {"momentum": None}
buffers["momentum"].zero_()

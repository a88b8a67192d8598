# title: Another bool is called
# kind: requires_grad_flag
# raises: TypeError
# quiet: true

import torch
x = torch.ones(2, requires_grad=True)
ready = True
x.ready = ready
x.ready()

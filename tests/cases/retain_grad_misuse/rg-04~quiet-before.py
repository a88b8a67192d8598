# title: Written first, viewed and retained afterwards
# kind: retain_grad_misuse
# quiet: true

import torch
buf = torch.arange(6., requires_grad=True) * 1.0
buf[:2].zero_()
tail = buf[3:]
tail.retain_grad()
last = tail[-1]
last.backward()
assert tail.grad.tolist() == [0., 0., 1.]

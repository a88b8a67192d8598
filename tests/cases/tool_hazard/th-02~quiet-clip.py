# title: torch's own helpers look at .grad of whatever they are given
# kind: tool_hazard
# quiet: true

import torch
w = torch.ones(3, requires_grad=True)
h = w * 2
h.sum().backward()
torch.nn.utils.clip_grad_norm_([w, h], 1.0)
torch.nn.utils.get_total_norm([p.grad for p in (w,) if p.grad is not None])
opt = torch.optim.SGD([w], lr=0.1)
opt.zero_grad()

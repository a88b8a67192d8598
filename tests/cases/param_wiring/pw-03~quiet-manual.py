# title: A plain tensor that an optimizer has, and one that is trained by hand
# kind: param_wiring
# quiet: true

import torch
class Mem(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.keys = torch.zeros(3, 2, requires_grad=True)
        self.mine = torch.zeros(2, requires_grad=True)
        self.proj = torch.nn.Linear(2, 2)
m = Mem()
opt = torch.optim.SGD([*m.parameters(), m.keys], lr=1.0)
for _ in range(2):
    opt.zero_grad()
    (m.proj(torch.ones(1, 2) + m.mine) @ m.keys.t()).sum().backward()
    opt.step()
    with torch.no_grad():
        m.mine -= 0.1 * m.mine.grad
    m.mine.grad = None

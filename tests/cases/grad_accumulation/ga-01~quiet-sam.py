# title: Two passes and a move in between for each step
# kind: grad_accumulation
# quiet: true

import torch

class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho))
        self.base = base(self.param_groups, **kwargs)

    @torch.no_grad()
    def first_step(self):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]))
        for group in self.param_groups:
            for p in group["params"]:
                e = p.grad * group["rho"] / norm
                p.add_(e)
                self.state[p]["e"] = e
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p]["e"])
        self.base.step()
        self.zero_grad()

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = SAM(net.parameters(), torch.optim.SGD, lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(6):
    torch.nn.functional.mse_loss(net(x), y).backward()
    opt.first_step()
    torch.nn.functional.mse_loss(net(x), y).backward()
    opt.second_step()

# title: Another class has a forward that asks
# kind: custom_function
# quiet: true

import torch
class Function:
    def forward(self, x):
        return x if torch.is_grad_enabled() else x.detach()
class Net(torch.nn.Module):
    def forward(self, x):
        if torch.is_grad_enabled():
            return x * 3
        return x
x = torch.ones(1, requires_grad=True)
(Net()(x) + Function().forward(x)).backward()

# title: Leaves are named by what a hook sees, and some have no name
# kind: tool_hazard
# quiet: true

import torch
class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.by = torch.nn.Parameter(torch.ones(2))
    def forward(self, x):
        return x * self.by
net, seen = Scale(), []
handles = [p.register_post_accumulate_grad_hook(lambda p: seen.append(id(p)))
           for p in (*net.parameters(), *torch.nn.Linear(2, 2).parameters())]
net(torch.ones(3, 2)).sum().backward()
for handle in handles:
    handle.remove()
assert seen == [id(net.by)]

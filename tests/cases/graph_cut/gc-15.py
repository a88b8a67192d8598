# title: Freezing by eval(): the module's eval path uses no_grad and drops the gradient to the
#     layers before it
# kind: graph_cut
# variable: pre.weight
# says: pre.weight gets no gradient: the eval branch of Frozen runs under no_grad (line 5). eval()
#     and 'do not train' are different things.
# fix: Freeze with requires_grad_(False) and keep grad mode on.
# torch: no error, no warning; prints: None tensor([1., 1.])
# source: soda-inria/tabicl#17

import torch
class Frozen(torch.nn.Module):
    def forward(self, x):
        if self.training: return x * 2
        with torch.no_grad():  #! cause
            return x * 2
pre, net = torch.nn.Linear(2, 2), Frozen().eval()
(net(pre(torch.ones(1, 2))) + pre.bias).sum().backward()
print(pre.weight.grad, pre.bias.grad)  #! symptom

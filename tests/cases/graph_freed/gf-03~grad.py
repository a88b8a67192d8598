# title: A penalty is taken of features that were computed once
# kind: graph_freed
# variable: style
# says: `style` carries the graph of `enc`, which no optimizer trains.
# fix: style = ....detach()
# raises: RuntimeError

import torch
enc = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
style = enc(torch.randn(2, 3)).mean(0)  #! cause
img = torch.randn(3, requires_grad=True)
opt = torch.optim.Adam([img], lr=0.1)
def step():
    dist = (img - style).pow(2).sum()
    img.grad, = torch.autograd.grad(dist, img)
    opt.step()
    (img * style).sum().backward()  #! symptom
for _ in range(4):
    step()

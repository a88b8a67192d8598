# title: An epoch in a function throws away its incomplete group when it ends
# kind: grad_accumulation
# quiet: true

import torch


def train(net, opt, batches):
    for n, x in enumerate(batches, 1):
        (net(x).abs().mean() / 3).backward()
        if n % 3 == 0:
            opt.step()
            opt.zero_grad(set_to_none=True)
    opt.zero_grad(set_to_none=True)

torch.manual_seed(0)
net = torch.nn.Linear(3, 1)
opt = torch.optim.AdamW(net.parameters())
# %%
for _ in range(2):
    train(net, opt, torch.randn(8, 5, 3))

# title: The generator first, a helper does the passes, several discriminator steps for one of the generator
# kind: grad_accumulation
# quiet: true

import torch
from torch import nn
torch.manual_seed(0)
gen, dis = nn.Linear(2, 2), nn.Linear(2, 1)
gen_opt = torch.optim.RMSprop(gen.parameters(), lr=1e-3)
dis_opt = torch.optim.RMSprop(dis.parameters(), lr=1e-3)

def backprop(loss, opt):
    loss.backward()
    opt.step()

for epoch in range(5):
    gen_opt.zero_grad()
    backprop(-dis(gen(torch.randn(4, 2))).mean(), gen_opt)
    for _ in range(3):
        dis_opt.zero_grad()
        fake = gen(torch.randn(4, 2)).detach()
        backprop(dis(fake).mean() - dis(torch.randn(4, 2)).mean(), dis_opt)
        with torch.no_grad():
            for p in dis.parameters():
                p.clamp_(-0.01, 0.01)

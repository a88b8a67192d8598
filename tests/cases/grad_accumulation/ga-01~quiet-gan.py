# title: A GAN: the generator's pass fills the discriminator's gradients, which are cleared before its own
# kind: grad_accumulation
# quiet: true

import torch
from torch import nn
torch.manual_seed(0)
netG = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
netD = nn.Sequential(nn.Linear(2, 4), nn.LeakyReLU(), nn.Linear(4, 1))
optG = torch.optim.Adam(netG.parameters(), lr=1e-3)
optD = torch.optim.Adam(netD.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
for step in range(6):
    netD.zero_grad()
    real = bce(netD(torch.randn(8, 2)), ones)
    real.backward()
    fake = netG(torch.randn(8, 2))
    bce(netD(fake.detach()), zeros).backward()
    optD.step()

    netG.zero_grad()
    bce(netD(fake), ones).backward()
    optG.step()

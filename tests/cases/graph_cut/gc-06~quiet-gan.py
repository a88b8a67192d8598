# title: The discriminator's step looks at detached fakes
# kind: graph_cut
# quiet: true

import torch
gen, dis = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
og = torch.optim.SGD(gen.parameters(), lr=0.1)
od = torch.optim.SGD(dis.parameters(), lr=0.1)
for _ in range(3):
    fake = gen(torch.ones(4, 2))
    od.zero_grad()
    (dis(fake.detach()).mean() - dis(torch.zeros(4, 2)).mean()).backward()
    od.step()
    og.zero_grad()
    (-dis(fake).mean()).backward()
    og.step()

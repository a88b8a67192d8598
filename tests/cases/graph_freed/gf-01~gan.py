# title: The discriminator sees the generator with its graph
# kind: graph_freed
# variable: fake
# says: loss_d.backward() freed the graph of `fake`, which loss_g needs.
# fix: loss_d = D(fake.detach()).mean()
# raises: RuntimeError

import torch
G, D = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
for z in torch.ones(3, 4, 2):
    fake = torch.tanh(G(z))  #! cause
    opt_d.zero_grad()
    loss_d = D(fake).mean()
    loss_d.backward()
    opt_d.step()
    opt_g.zero_grad()
    loss_g = -D(fake).mean()
    loss_g.backward()  #! symptom
    opt_g.step()

# title: A function that trains a model of its own, whose encoder is detached
# kind: graph_cut
# variable: enc.weight
# says: enc gets no gradient: its output is detached.
# fix: z = enc(torch.ones(4, 2))

import torch
def train():
    enc, head = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    opt = torch.optim.Adam([*enc.parameters(), *head.parameters()])
    for _ in range(3):
        z = enc(torch.ones(4, 2)).detach()  #! cause
        loss = head(z).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()  #! symptom
train()

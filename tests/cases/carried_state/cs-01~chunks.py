# title: Truncated backpropagation: the state runs through the inner loop of a chunk
# kind: carried_state
# variable: h
# says: `h` goes into this step with the graph of the step before.
# fix: h = h.detach() once for each chunk, before or after the inner loop: not inside of it.
# raises: RuntimeError

import torch
cell = torch.nn.RNNCell(2, 2)
opt = torch.optim.SGD(cell.parameters(), lr=0.0)
def train(chunks):
    h = torch.zeros(1, 2)
    for chunk in chunks:
        opt.zero_grad()
        outs = []
        for x in chunk:
            h = cell(x, h)  #! cause
            outs.append(h)
        loss = torch.stack(outs).pow(2).mean()
        loss.backward()  #! symptom
        opt.step()
    return h
h = train(torch.ones(6, 1, 2).split(2))
# === fixed
import torch
cell = torch.nn.RNNCell(2, 2)
opt = torch.optim.SGD(cell.parameters(), lr=0.0)
def train(chunks):
    h = torch.zeros(1, 2)
    for chunk in chunks:
        opt.zero_grad()
        outs = []
        h = h.detach()
        for x in chunk:
            h = cell(x, h)
            outs.append(h)
        loss = torch.stack(outs).pow(2).mean()
        loss.backward()
        opt.step()
    return h
h = train(torch.ones(6, 1, 2).split(2))
# === check
first = torch.zeros(1, 2)
for _ in range(4): first = cell(torch.ones(1, 2), first).detach()
outs = [cell(torch.ones(1, 2), first)]
outs.append(cell(torch.ones(1, 2), outs[0]))
wanted, = torch.autograd.grad(torch.stack(outs).pow(2).mean(), cell.weight_hh)
assert torch.allclose(cell.weight_hh.grad, wanted)

# title: A state that is None before the first step
# kind: carried_state
# variable: state
# says: `state` goes into this step with the graph of the step before.
# fix: state = state.detach() at the end of each step
# raises: RuntimeError

import torch
rnn = torch.nn.GRU(2, 3)
opt = torch.optim.SGD(rnn.parameters(), lr=0.1)
state = None
for x in torch.ones(3, 4, 1, 2):
    out, state = rnn(x, state)  #! cause
    loss = out.sum()
    opt.zero_grad()
    loss.backward()  #! symptom
    opt.step()
# === fixed
import torch
rnn = torch.nn.GRU(2, 3)
opt = torch.optim.SGD(rnn.parameters(), lr=0.1)
state = None
for x in torch.ones(3, 4, 1, 2):
    out, state = rnn(x, state)
    loss = out.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    state = state.detach()
# === check
assert state.shape == (1, 1, 3) and not state.requires_grad

# title: The states of an nn.LSTM
# kind: carried_state
# variable: mem
# says: `mem` (not `hid`) still carries the graph.
# fix: mem = mem.detach()
# raises: RuntimeError

import torch
rnn = torch.nn.LSTM(2, 3)
hid, mem = torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)
for x in torch.ones(3, 4, 1, 2):
    out, (hid, mem) = rnn(x, (hid.detach(), mem))  #! cause
    out.mean().backward()  #! symptom

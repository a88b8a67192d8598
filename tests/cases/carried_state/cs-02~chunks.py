# title: Chunks of a sequence through an LSTM cell, whose state is None at first
# kind: carried_state
# variable: state
# says: `state` goes into this step with the graph of the step before.
# fix: state = tuple(part.detach() for part in state) at the end of each chunk: at the start of
#     the first there is nothing to detach.
# raises: RuntimeError

import torch
rnn = torch.nn.LSTMCell(2, 2)
state = None
for chunk in torch.ones(6, 1, 2).split(2):
    loss = 0
    for x in chunk:
        state = rnn(x, state)  #! cause
        loss = loss + state[0].sum()
    rnn.zero_grad()
    loss.backward()  #! symptom
# === fixed
import torch
rnn = torch.nn.LSTMCell(2, 2)
state = None
for chunk in torch.ones(6, 1, 2).split(2):
    loss = 0
    for x in chunk:
        state = rnn(x, state)
        loss = loss + state[0].sum()
    rnn.zero_grad()
    loss.backward()
    state = tuple(part.detach() for part in state)
# === check
assert [part.requires_grad for part in state] == [False, False]
assert rnn.weight_hh.grad.abs().sum() > 0

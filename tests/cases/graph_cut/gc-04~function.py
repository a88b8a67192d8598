# title: A helper that rebuilds its argument as a new leaf
# kind: graph_cut
# variable: fresh
# says: fresh is a copy of the hidden state: the encoder gets no gradient.
# fix: use hidden itself

import torch
def head(hidden):
    fresh = torch.tensor(hidden, requires_grad=True)  #! cause
    return fresh.tanh().sum()
enc = torch.nn.Linear(2, 2)
head(enc(torch.ones(1, 2))).backward()
print(enc.weight.grad)  #! symptom

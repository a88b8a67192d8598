# title: Predictions of an epoch are joined one after another
# kind: memory_retention
# variable: seen
# says: `seen` holds the graph of each iteration.
# fix: torch.cat([seen, p.detach()])
# torch: no error, no warning

import torch
net = torch.nn.Linear(2, 2)
seen = torch.empty(0, 2)
for x in torch.randn(4, 3, 2):
    p = torch.softmax(net(x), -1)
    seen = torch.cat([seen, p])  #! cause
print(seen.argmax(-1).bincount())  #! symptom

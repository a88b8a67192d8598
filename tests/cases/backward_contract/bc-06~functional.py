# title: a lookup with sparse=True, and AdamW, in a training loop
# kind: backward_contract
# variable: table
# raises: RuntimeError

import torch
import torch.nn.functional as F
table = torch.nn.Parameter(torch.randn(6, 3))
head = torch.nn.Linear(3, 1)
opt = torch.optim.AdamW([table, *head.parameters()], lr=1e-3)
for batch in ([0, 1], [2, 5]):
    opt.zero_grad()
    rows = F.embedding(torch.tensor(batch), table, sparse=True)  #! cause
    head(rows).mean().backward()
    opt.step()  #! symptom

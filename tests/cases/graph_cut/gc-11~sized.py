# title: A batch rebuilt with new_tensor from a list of outputs
# kind: graph_cut
# variable: batch
# says: new_tensor copies: the encoder is not connected to the loss.
# fix: torch.stack

import torch
def collate(enc, items):
    rows = [enc(item).sum() for item in items]
    batch = items[0].new_tensor(rows)  #! cause
    return batch
enc, head = torch.nn.Linear(2, 3), torch.nn.Linear(2, 1)
head(collate(enc, [torch.ones(2), torch.zeros(2)])).sum().backward()  #! symptom
print(enc.weight.grad)

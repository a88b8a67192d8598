# title: The gradient of the embedded tokens
# kind: requires_grad_flag
# quiet: true

import torch
emb, head = torch.nn.Embedding(7, 2), torch.nn.Linear(2, 3)
tokens = torch.tensor([1, 4])
vectors = emb(tokens).detach().requires_grad_()
logits = head(vectors)
values, picked = logits.max(1)
values.sum().backward()
print(vectors.grad, picked)

# title: Scores that are masked with -inf before a softmax
# kind: degenerate_grad
# quiet: true

import torch
q = torch.randn(3, 4, requires_grad=True)
later = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
scores = (q @ q.T).masked_fill(later, float("-inf"))
(scores.softmax(-1) @ q).sum().backward()

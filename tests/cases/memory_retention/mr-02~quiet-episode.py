# title: Log probabilities of an episode, for one backward in the next cell
# kind: memory_retention
# quiet: true

import torch
policy = torch.nn.Linear(2, 3)
saved = []
for x in torch.randn(5, 2):
    logp = torch.log_softmax(policy(x), -1)
    saved.append(logp[logp.argmax()])
# %%
loss = -torch.stack(saved).sum()
loss.backward()

# title: Weight decay over an embedding with max_norm, in a training step
# kind: leaf_inplace
# variable: words.weight
# says: the lookup renormalises the weight that the decay had saved.
# raises: RuntimeError

import torch
words = torch.nn.Embedding(4, 3, max_norm=0.1)
opt = torch.optim.SGD(words.parameters(), lr=0.1)
def step(batch):
    decay = 1e-2 * words.weight.square().sum()
    vectors = words(batch)  #! cause
    loss = vectors.mean() + decay
    opt.zero_grad()
    loss.backward()  #! symptom
    opt.step()
# %%
step(torch.tensor([0, 3]))

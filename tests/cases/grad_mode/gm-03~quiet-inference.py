# title: A notebook that runs without gradients, but for what it asks them of
# kind: grad_mode
# quiet: true

import torch
torch.set_grad_enabled(False)
net = torch.nn.Linear(2, 2)
# %%
for batch in torch.ones(3, 4, 2):
    scores = net(batch).softmax(-1)
# %%
x = torch.zeros(1, 2)
with torch.enable_grad():
    x.requires_grad_()
    net(x)[0, 0].backward()
saliency = x.grad.abs()
# %%
torch.set_grad_enabled(True)

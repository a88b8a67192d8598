# title: The function that a cell calls was changed to detach; the cell itself is the same
# kind: graph_cut
# variable: pixels
# says: `pixels` reached the loss in the cell's last run; line 2 of the new function cuts it off.
# fix: return the features without detach()

import torch
pixels = torch.rand(2, 6, requires_grad=True)
head = torch.nn.Linear(3, 1)
class Encoder(torch.nn.Module):
    def forward(self, x):
        return x.unflatten(1, (3, 2)).mean(-1)
encoder = Encoder()
# %%
head.zero_grad()
pixels.grad = None
error = head(encoder(pixels)).pow(2).sum()
error.backward()
# %%
class Encoder(torch.nn.Module):
    def forward(self, x):
        return x.unflatten(1, (3, 2)).mean(-1).detach()  #! cause symptom
encoder = Encoder()
# %% rerun 2

# title: A feature extractor that detaches its output never trains
# kind: graph_cut
# variable: model.conv.weight
# says: detach() in features cuts the graph: conv never gets a gradient, though the optimizer has it.
# fix: without .detach()

import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Linear(4, 4)
        self.head = torch.nn.Linear(4, 1)
    def features(self, x):
        h = self.conv(x).relu()
        return h.detach()  #! cause
    def forward(self, x):
        return self.head(self.features(x))
# %%
model = Model()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    opt.zero_grad()
    loss = model(torch.ones(2, 4)).square().mean()
    loss.backward()
    opt.step()  #! symptom

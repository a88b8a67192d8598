# title: Validation under no_grad between training steps
# kind: graph_cut
# quiet: true

import torch
model = torch.nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
@torch.no_grad()
def validate():
    return model(torch.ones(3, 2)).square().mean().item()
for _ in range(3):
    before = validate()
    opt.zero_grad()
    model(torch.ones(1, 2)).square().mean().backward()
    opt.step()
    with torch.inference_mode():
        print(before, validate(), model(torch.zeros(1, 2)))

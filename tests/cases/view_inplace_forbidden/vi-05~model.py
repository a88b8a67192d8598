# title: every layer of a model gets a hook in a loop
# kind: view_inplace_forbidden
# variable: layer
# raises: RuntimeError

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 3)
        self.act = torch.nn.LeakyReLU(0.1, inplace=True)
    def forward(self, x):
        return self.act(self.fc(x))
model = Net()
norms = []
for layer in model.children():
    layer.register_full_backward_hook(lambda m, gi, go: norms.append(go[0].norm()))  #! cause
model(torch.ones(2, 3)).sum().backward()  #! symptom

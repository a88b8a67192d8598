# title: The activations of a layer are held by the traceback
# kind: memory_retention
# variable: hidden
# says: The frame of forward, held by the last error, owns `hidden`.
# fix: sys.last_value = sys.last_traceback = None
# raises: ValueError

import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 500)
    def forward(self, x):
        hidden = torch.relu(self.fc(x))  #! cause
        if hidden.shape[-1] != 10:
            raise ValueError("bad shape")
        return hidden
net = Net()
# %%
net(torch.ones(8, 4))
# %%
net = None  #! symptom

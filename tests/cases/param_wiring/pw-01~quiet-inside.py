# title: The conversion stands inside, or is of the whole module
# kind: param_wiring
# quiet: true

import torch
class Scaler(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(3).to(torch.float64))
        self.shift = torch.nn.Parameter(torch.zeros(3)).to("cpu")
        self.register_buffer("mean", torch.zeros(3).double())
        self.scale = torch.ones(3) * 2
s = Scaler().to(torch.float64)
(s.gain + s.shift + s.mean).sum().backward()
print(len(list(s.parameters())))

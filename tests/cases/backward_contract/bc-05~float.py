# title: a spectrum cast with float() in a module
# kind: backward_contract
# variable: mixed

import torch
class Spectral(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.filter = torch.nn.Parameter(torch.ones(4, dtype=torch.cfloat))
    def forward(self, x):
        spectrum = torch.fft.fft(x) * self.filter
        mixed = spectrum.float()  #! cause
        return mixed.sum()
net = Spectral()
for _ in range(3):
    net(torch.arange(4.)).backward()  #! symptom

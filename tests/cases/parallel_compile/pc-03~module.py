# title: a parameter is clamped in the forward of a compiled module
# kind: parallel_compile
# variable: self.gain
# raises: TorchRuntimeError

import torch
class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(2))
    def forward(self, x):
        self.gain.clamp_(min=0)  #! cause
        return x * self.gain
net = torch.compile(Scale(), backend="aot_eager")
net(torch.ones(2))  #! symptom

# title: a recorder object whose method is the hook, in a function
# kind: hook_surprise
# variable: act

import torch
class Recorder:
    def __init__(self):
        self.means = []
    def hook(self, module, inputs, output):
        self.means.append(inputs[0].mean().item())
def probe(x):
    recorder = Recorder()
    act = torch.nn.SiLU(inplace=True)
    act.register_forward_hook(recorder.hook)
    act(x * 2)  #! cause
    return recorder.means  #! symptom
probe(torch.ones(3, requires_grad=True))

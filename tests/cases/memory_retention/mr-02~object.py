# title: Outputs are kept in a list of an object
# kind: memory_retention
# variable: self.outs
# says: `runner.outs` holds outputs with their graphs.
# fix: append out.detach()
# torch: no error, no warning

import torch
class Runner:
    def __init__(self):
        self.net, self.outs = torch.nn.Linear(2, 2), []
    def evaluate(self, batches):
        for x in batches:
            out = torch.sigmoid(self.net(x))
            self.outs.append((x.sum().item(), out))  #! cause
runner = Runner()
runner.evaluate(torch.randn(4, 3, 2))
print(len(runner.outs))  #! symptom

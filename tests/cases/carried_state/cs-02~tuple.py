# title: The state of an LSTM, handed on as it is
# kind: carried_state
# variable: mem
# says: `mem` carries the graph of the step before, `h` does not.
# fix: state = (h.detach(), mem.detach())
# raises: RuntimeError

import torch
class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.LSTMCell(3, 4)
    def forward(self, x, state):
        return self.cell(x, state)  #! cause
reader = Reader()
state = None
for x in torch.ones(3, 2, 3):
    h, mem = reader(x, state)
    state = (h.detach(), mem)
    h.mean().backward()  #! symptom

# title: The graph is of an earlier cell; the write and a longer loss stand in the next
# kind: saved_tensor_mutated
# variable: rows
# says: The op of cell 1 saved `rows`; zero_ changed a part of it.
# fix: Write to a copy.
# raises: RuntimeError

import torch
class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(3))
    def forward(self, t):
        return (t * self.gain).tanh()
rows = torch.ones(3)
scale = Scale()
out = scale(rows)
# %%
def blank(t):
    t[:2].zero_()  #! cause
blank(rows)
total = out.sum() * 2
total.backward()  #! symptom

# title: The module that writes runs eagerly, and the one that is compiled does not write
# kind: parallel_compile
# quiet: true

import torch
from torch.nn.functional import dropout
class Eager(torch.nn.Module):
    def forward(self, x):
        kept = dropout(x, training=False)
        kept += 1
        return kept
class Pure(torch.nn.Module):
    def forward(self, x):
        kept = dropout(x, training=False)
        kept = kept + 1
        return kept
    def bump_(self, x):
        kept = dropout(x, training=False)
        kept += 1
eager, pure = Eager(), Pure()
fast = torch.compile(pure, backend="aot_eager")
print(eager(torch.ones(2)), fast(torch.ones(2)))

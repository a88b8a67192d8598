# title: A pretty printer reads every property of the tensors in an object
# kind: tool_hazard
# quiet: true

import torch
class Batch:
    def __init__(self, x):
        self.x, self.h = x, x.exp()
def show(thing, names=("grad", "grad_fn", "requires_grad", "output_nr")):
    return {k: {n: getattr(v, n, None) is None for n in names} for k, v in vars(thing).items()}
for _ in range(2):
    batch = Batch(torch.ones(2, requires_grad=True))
    table = show(batch)
assert table["h"]["grad"]

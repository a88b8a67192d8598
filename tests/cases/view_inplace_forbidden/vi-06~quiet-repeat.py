# title: repeat copies, and an expanded tensor may be read
# kind: view_inplace_forbidden
# quiet: true

import torch
def grid(g):
    wide = g.repeat(1, 4)
    wide[:, 0] = 0
    return (wide * g.expand(3, 4)).sum()
grid(torch.ones(3, 1, requires_grad=True)).backward()

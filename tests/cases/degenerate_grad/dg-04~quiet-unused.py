# title: A value that is no number in a part of the cell that is not trained
# kind: degenerate_grad
# quiet: true

import torch
w = torch.tensor([-1., 2.], requires_grad=True)
with torch.no_grad():
    score = w.log()
kept = w.clamp(min=0.).sqrt()[1:]
(kept * 3).sum().backward()

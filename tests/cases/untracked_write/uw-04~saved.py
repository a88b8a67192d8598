# title: It looks alike, but the square saved the view that is zeroed through .data
# kind: untracked_write
# variable: alias
# says: The power saved `alias`, whose values were changed through .data before the second pass.
# fix: write after the last pass, or into a clone

import torch
w = torch.arange(3., requires_grad=True)
alias = w.reshape(3, 1)
loss = (alias ** 2).sum()
first, = torch.autograd.grad(loss, w, retain_graph=True)
alias.data.zero_()  #! cause
second, = torch.autograd.grad(loss, w)  #! symptom
print(first.equal(second))

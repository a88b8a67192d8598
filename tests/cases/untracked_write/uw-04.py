# title: False alarm: in-place on a view under no_grad with retain_graph when nothing saved it
# kind: untracked_write
# variable: alias
# says: Nothing to report beyond an info note: multiplying by a constant does not save `alias`, so
#     the gradient (7) is still right.
# fix: None needed.
# torch: no error, no warning; prints: True
# source: pytorch/pytorch#197054
# note: A tool must look at what was saved, not at the mere fact of mutation.
# quiet: true

import torch
w = torch.arange(3., requires_grad=True)
alias = w.reshape(3, 1)
loss = (alias * 7).sum()
first, = torch.autograd.grad(loss, w, retain_graph=True)
with torch.no_grad():
    alias.zero_()  #! cause
second, = torch.autograd.grad(loss, w)
print(first.equal(second))  #! symptom

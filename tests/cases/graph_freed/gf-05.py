# title: Second backward is only an error when something was saved: sum() silently doubles the
#     gradient
# kind: graph_freed
# variable: s
# says: backward ran twice over the same graph (lines 4 and 5); no op in it saves tensors, so
#     torch did not object and x.grad is doubled (2 instead of 1).
# fix: Drop the second backward, or zero x.grad in between.
# torch: no error, no warning; prints: tensor([2., 2., 2.])
# source: pytorch/tutorials#34
# note: add/sub/sum/view/cat-only graphs behave like this in 2.13; x*2 does raise.

import torch
x = torch.ones(3, requires_grad=True)
s = x.sum()
s.backward()
s.backward()  #! cause
print(x.grad)  #! symptom

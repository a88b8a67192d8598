# title: numpy.asarray and an ufunc with out=
# kind: untracked_write
# variable: view
# says: `view` is the memory of `e`.
# fix: np.array(e.detach())

import numpy as np
import torch
a = torch.ones(3, requires_grad=True)
e = a.exp()
view = np.asarray(e.detach())
total = float(view.sum())
np.divide(view, total, out=view)  #! cause
loss = e.prod()
loss.backward()  #! symptom

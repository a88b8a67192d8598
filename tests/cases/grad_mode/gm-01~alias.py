# title: torch by another name, in a loop
# kind: grad_mode
# variable: th.no_grad()
# says: the context manager is thrown away.

import torch as th
w = th.ones(2, requires_grad=True)
for _ in range(2):
    th.no_grad()  #! cause
    h = w * 2  #! symptom

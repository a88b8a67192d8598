# title: No loop: the second segment goes on from the state of the first
# kind: carried_state
# variable: mem
# says: `mem` still carries the first segment.
# fix: mem = mem.detach()
# raises: RuntimeError
# note: The state that is carried is the one of line 3.

import torch
w = torch.randn(3, 3, requires_grad=True)
mem = torch.tanh(torch.ones(3) @ w)  #! cause
mem.sum().backward()
mem = torch.tanh(mem @ w)
mem.sum().backward()  #! symptom

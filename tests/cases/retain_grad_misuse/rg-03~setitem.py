# title: One entry is replaced after hook and retain_grad
# kind: retain_grad_misuse
# variable: scores
# says: the hook saw the old value's gradient.

import torch
w = torch.rand(4, requires_grad=True)
scores = w.log()
hooked = {}
scores.register_hook(lambda grad: hooked.update(grad=grad))
scores.retain_grad()
scores[0] = 0.  #! cause
scores.logsumexp(0).backward()
print(scores.grad - hooked["grad"])  #! symptom

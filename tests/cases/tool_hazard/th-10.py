# title: A logging/tracing tool that stores the tensors it is given keeps their graphs alive
# kind: tool_hazard
# variable: tool_log
# says: The tool's record owns `loss` and through it the saved activation.
# fix: Store weakrefs, shapes and numbers; never the tensor.
# torch: no error, no warning; prints: True
# source: wandb/wandb#354
# quiet: true

import torch, weakref
log = []
def tool_log(name, value):
    log.append((name, value))  #! cause
w = torch.ones(1000, requires_grad=True)
act = w.exp(); r = weakref.ref(act)
tool_log("loss", (act ** 2).sum())
del act
print(r() is not None)  #! symptom

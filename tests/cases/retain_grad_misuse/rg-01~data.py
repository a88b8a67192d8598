# title: The gradient of a batch is to be kept
# kind: retain_grad_misuse
# variable: batch
# says: batch does not require grad.
# raises: RuntimeError

import torch
def explain(net):
    batch = torch.rand(2, 3)  #! cause
    batch.retain_grad()  #! symptom
    net(batch).sum().backward()
    return batch.grad
explain(torch.nn.Linear(3, 1))

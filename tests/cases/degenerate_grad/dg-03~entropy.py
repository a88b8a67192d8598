# title: The entropy of a softmax that is sure of itself
# kind: degenerate_grad
# variable: logits
# says: The logarithm of 0 is -inf, and 0 * -inf is nan.
# fix: Use log_softmax, or clamp before the logarithm.

import torch
logits = torch.tensor([[0., 300.]], requires_grad=True)
def entropy(p):
    return -(p * p.log()).sum(-1)  #! cause
loss = entropy(torch.softmax(logits, -1)).mean()
loss.backward()  #! symptom

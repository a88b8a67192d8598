# title: A helper tries a step on a name of its own
# kind: leaf_rebound
# quiet: true

import torch
def after_a_step(p):
    q = p
    q = q - 0.1 * p.grad
    return (q ** 2).sum().item()
w = torch.ones(3, requires_grad=True)
(w ** 2).sum().backward()
value = after_a_step(w)

# title: A gradient penalty on a linear critic whose weights are frozen
# kind: graph_cut
# variable: slope
# says: `slope` is a constant, even with create_graph=True.
# fix: Leave it out: the derivative of a constant is zero.
# raises: RuntimeError

import torch
def penalty(critic, batch):
    batch = batch.clone().requires_grad_()
    slope = torch.autograd.grad(critic(batch).sum(), batch, create_graph=True)[0]  #! cause
    return (slope.norm(dim=1) - 1).pow(2).mean()
critic = torch.nn.Linear(3, 1).requires_grad_(False)
penalty(critic, torch.rand(4, 3)).backward()  #! symptom

# title: a loss with reduction="none", in a training function
# kind: backward_contract
# variable: loss
# raises: RuntimeError

import torch
net = torch.nn.Linear(3, 2)
def train(x, target):
    out = net(x)
    loss = torch.nn.functional.mse_loss(out, target, reduction="none")  #! cause
    loss.backward(retain_graph=True)  #! symptom
train(torch.ones(4, 3), torch.zeros(4, 2))

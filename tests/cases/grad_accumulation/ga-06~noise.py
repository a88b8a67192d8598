# title: Noise added in place to gradients that are not there
# kind: grad_accumulation
# variable: param
# raises: AttributeError

import torch

def add_noise(net, scale):
    for name, param in net.named_parameters():
        param.grad.add_(scale * torch.randn_like(param))  #! symptom

net = torch.nn.Linear(4, 2)
net(torch.ones(1, 4)).sum().backward()
net.zero_grad()  #! cause
add_noise(net, 0.1)

# title: A sample is drawn without the reparametrization
# kind: graph_cut
# variable: x
# says: sample() draws without a graph.
# fix: rsample

import torch
mu = torch.zeros(2, requires_grad=True)
d = torch.distributions.Normal(mu, 1.0)
x = d.sample()  #! cause
((x - 1) ** 2).sum().backward()  #! symptom

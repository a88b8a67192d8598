# title: A learned scale is detached in a helper, and nobody reads its gradient
# kind: graph_cut
# variable: log_scale
# says: `log_scale` gets no gradient: detach at line 5 cuts the graph on the way to the loss.
# fix: return log_scale.exp()

import torch
log_scale = torch.zeros(1, requires_grad=True)
def scale():
    s = log_scale.exp()
    return s.detach()  #! cause
net = torch.nn.Linear(2, 1)
for _ in range(3):
    loss = (net(torch.ones(4, 2)) * scale()).pow(2).mean()
    loss.backward()  #! symptom

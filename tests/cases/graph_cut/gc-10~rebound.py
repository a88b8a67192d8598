# title: The input is rebound to what a net makes of it under no_grad
# kind: graph_cut
# variable: x
# says: the net was run without a graph; that is no update of x.
# fix: run the net outside of torch.no_grad()
# raises: RuntimeError

import torch
net = torch.nn.Linear(3, 3)
x = torch.ones(3, requires_grad=True)
(net(x) ** 2).sum().backward()
with torch.no_grad():  #! cause
    x = net(x)
(x ** 2).sum().backward()  #! symptom

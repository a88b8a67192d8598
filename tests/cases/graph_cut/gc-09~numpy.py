# title: A step of the computation in NumPy
# kind: graph_cut
# variable: scale
# says: numpy() takes the numbers out of the graph.
# fix: torch.exp(scale)

import numpy as np, torch
scale = torch.zeros(3, requires_grad=True)
shift = torch.zeros(3, requires_grad=True)
grown = np.exp(scale.detach().numpy())  #! cause
loss = (torch.from_numpy(grown) * 2 + shift).sum()
loss.backward()
print(shift.grad, scale.grad)  #! symptom

# title: A rotation matrix built with torch.tensor from an angle
# kind: graph_cut
# variable: rot
# says: torch.tensor copied the numbers of c and s; the angle is reached through the offset only.
# fix: torch.stack

import torch
angle = torch.tensor(0.3, requires_grad=True)
c, s = angle.cos(), angle.sin()
rot = torch.tensor([[c, -s], [s, c]])  #! cause
points = torch.ones(5, 2) @ rot + angle
points.square().sum().backward()  #! symptom
print(angle.grad)

# title: New tensors that take type and device only
# kind: graph_cut
# quiet: true

import torch
student = torch.nn.Linear(2, 2)
out = student(torch.ones(1, 2))
goal = out.new_tensor([[0.0, 1.0]])
noise = torch.zeros_like(out) + out.new_ones(2)
((out + noise - goal) ** 2).sum().backward()
print(student.weight.grad)

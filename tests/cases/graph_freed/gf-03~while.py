# title: The target is the output of a network that is not trained
# kind: graph_freed
# variable: goal
# says: Only the student is trained; `goal` still carries the graph of the teacher.
# fix: goal = ....detach()
# raises: RuntimeError

import torch
teacher, student = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
x = torch.ones(3, 2)
goal = torch.softmax(teacher(x), -1)  #! cause
i = 0
while i < 3:
    opt.zero_grad()
    gap = torch.nn.functional.mse_loss(student(x), goal)
    gap.backward()  #! symptom
    opt.step()
    i += 1

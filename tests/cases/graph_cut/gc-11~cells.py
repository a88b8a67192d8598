# title: Teacher and student: the student's logits are rebuilt
# kind: graph_cut
# variable: mine
# says: torch.tensor copies: the student gets nothing from the loss.
# fix: use student(x) itself

import torch
teacher, student = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
x = torch.ones(3, 2)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
# %%
with torch.no_grad():
    goal = teacher(x)
mine = torch.tensor(student(x), requires_grad=True)  #! cause
torch.nn.functional.mse_loss(mine, goal).backward()
opt.step()  #! symptom

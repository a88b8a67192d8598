# title: Pseudo labels are copies on purpose
# kind: graph_cut
# quiet: true

import torch
student = torch.nn.Linear(2, 2)
opt = torch.optim.SGD(student.parameters(), lr=0.1)
for _ in range(2):
    out = student(torch.ones(3, 2))
    labels = out.detach().argmax(1)
    sure = out.softmax(1).amax(1).detach().clone()
    loss = (torch.nn.functional.cross_entropy(out, labels, reduction="none") * sure).mean()
    opt.zero_grad(); loss.backward(); opt.step()

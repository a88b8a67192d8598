# title: A frozen backbone under no_grad cuts off the learned prompt
# kind: graph_cut
# variable: prompt
# says: prompt gets no gradient: the backbone runs under no_grad.
# fix: requires_grad_(False) on the backbone

import torch
backbone, head = torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)
prompt = torch.nn.Parameter(torch.zeros(3))
def encode(x):
    with torch.no_grad():  #! cause
        return backbone(x + prompt)
for _ in range(2):
    head(encode(torch.ones(2, 3))).sum().backward()
print(prompt.grad)  #! symptom

# title: The flag of the only leaf is taken away by a method call before the loss is computed
# kind: graph_cut
# variable: scale
# says: nothing behind the loss requires grad: this line freezes scale.
# fix: scale.requires_grad_(True), or no such line
# torch: RuntimeError (line 8): element 0 of tensors does not require grad and does not have a
#     grad_fn

import torch
body = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh()).requires_grad_(False)
scale = torch.ones(2, requires_grad=True)
def run(x):
    scale.requires_grad_(requires_grad=False)  #! cause
    return scale * body(x)
for _ in range(2):
    run(torch.ones(1, 2)).sum().backward()  #! symptom

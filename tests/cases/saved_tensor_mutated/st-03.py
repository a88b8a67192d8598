# title: GAN: discriminator step between forward and generator backward
# kind: saved_tensor_mutated
# variable: D.weight
# says: opt.step() at line 7 changed D.weight in place; the graph of line 5 saved the old value.
# fix: Run both backward calls before any step(), or recompute score = D(fake) after the step.
# torch: RuntimeError (line 8): one of the variables needed for gradient computation has been
#     modified by an inplace operation: [torch.FloatTensor [2, 1]], which is output 0 of
#     AsStrided, is at version 2; expected version 1 instead. Hint: enable anomaly detection to
#     find the operation that failed to compute its gradient, with
#     torch.autograd.set_detect_anomaly(True, check_nan=False).
# source: pytorch/pytorch#39141

import torch
D, G = torch.nn.Linear(2, 1), torch.nn.Linear(2, 2)
opt = torch.optim.SGD(D.parameters(), lr=0.1)
fake = G(torch.ones(1, 2))
score = D(fake).mean()
(-score).backward(retain_graph=True)
opt.step()  #! cause
score.backward()  #! symptom

# title: Generator output made once, optimised several times with retain_graph
# kind: saved_tensor_mutated
# variable: fake
# says: `fake` (line 4) was computed with the weights before the first step; the step changed
#     those saved weights.
# fix: Move fake = G(...) inside the loop and drop retain_graph.
# torch: RuntimeError (line 6): one of the variables needed for gradient computation has been
#     modified by an inplace operation: [torch.FloatTensor [2, 1]], which is output 0 of
#     AsStrided, is at version 2; expected version 1 instead. Hint: enable anomaly detection to
#     find the operation that failed to compute its gradient, with
#     torch.autograd.set_detect_anomaly(True, check_nan=False).
# source: tamarott/SinGAN#148

import torch
G = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
opt = torch.optim.SGD(G.parameters(), lr=0.1)
fake = G(torch.ones(1, 2))  #! cause
for _ in range(2):
    fake.mean().backward(retain_graph=True)  #! symptom
    opt.step()

# title: Full backward hook on a module followed by/with an in-place activation
# kind: view_inplace_forbidden
# variable: net[1]
# says: The full backward hook wraps the module's input in BackwardHookFunction;
#     ReLU(inplace=True) then mutates that wrapped view.
# fix: ReLU(inplace=False), or a tensor hook installed from a forward hook.
# torch: RuntimeError (line 4): Output 0 of BackwardHookFunction is a view and is being modified
#     inplace. This view was created inside a custom Function (or because an input was returned
#     as-is) and the autograd logic to handle view+inplace would override the custom backward
#     associated with the custom Function, leading to incorrect gradients. This behavior is
#     forbidden. You can fix this by cloning the output of the custom Functio
# source: pytorch/pytorch#61519
# note: A tracing tool that installs module backward hooks causes this error in healthy user code.

import torch
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True))
net[1].register_full_backward_hook(lambda m, gi, go: None)  #! cause
net(torch.ones(1, 2))  #! symptom

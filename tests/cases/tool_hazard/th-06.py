# title: Leaf lookup by id(variable) fails for tensors not handed to the visualiser
# kind: tool_hazard
# variable: names
# says: AccumulateGrad.variable can be any parameter, also ones the user never named.
# fix: names.get(id(v), '<unnamed leaf of shape ...>'), names from the user namespace plus
#     named_parameters().
# torch: KeyError (line 6): the id of a tensor
# source: szagoruyko/pytorchviz#21
# quiet: true

import torch
net = torch.nn.Linear(3, 1)
probe = torch.rand(2, 3, requires_grad=True)
names = {id(probe): "probe"}
for fn, _ in net(probe).grad_fn.next_functions:
    if hasattr(fn, "variable"): print(names[id(fn.variable)])  #! cause symptom

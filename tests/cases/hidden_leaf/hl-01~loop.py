# title: Inputs of a saliency loop are converted after the flag is set
# kind: hidden_leaf
# variable: image
# says: the conversion makes a computed tensor; the leaf has no name any more.

import torch
scorer = torch.nn.Linear(4, 1).double()
maps = []
for seed in range(2):
    image = torch.full((4,), float(seed), requires_grad=True)
    image = image.type(torch.float64)  #! cause
    scorer(image).backward()
    maps.append(image.grad)  #! symptom

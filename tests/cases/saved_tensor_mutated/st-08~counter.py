# title: A temperature that is lowered between forward and backward
# kind: saved_tensor_mutated
# variable: temperature
# says: The division saved `temperature`, and `temperature *= 0.9` changed it.
# fix: temperature = temperature * 0.9
# raises: RuntimeError

import torch
w = torch.ones(3, requires_grad=True)
temperature = torch.tensor(2.)
def score():
    return (w / temperature).sum()
loss = score()
temperature *= 0.9  #! cause
(loss + score()).backward()  #! symptom

# title: Positions are made learnable as they are: integers
# kind: requires_grad_flag
# variable: positions
# says: randint gives integers.
# raises: RuntimeError

import torch
def start(n):
    positions = torch.randint(0, 9, (n,), requires_grad=True)  #! cause symptom
    return positions
start(4)

# title: expand_as and an augmented assignment, with no graph at all
# kind: view_inplace_forbidden
# variable: wide
# raises: RuntimeError

import torch
def blend(mask, img):
    wide = mask.expand_as(img)  #! cause
    wide -= 0.5  #! symptom
    return wide * img
blend(torch.ones(3, 1), torch.zeros(3, 4))

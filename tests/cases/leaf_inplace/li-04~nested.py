# title: One entry of a weight that an object holds in a dict
# kind: leaf_inplace
# variable: box.tables['k']
# says: the assignment writes into a leaf.
# raises: RuntimeError

import torch
class Box:
    pass
box = Box()
box.tables = {"k": torch.zeros(2, 2, requires_grad=True)}
# %%
box.tables['k'][0, 1] = 3.  #! cause symptom

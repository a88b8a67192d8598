# title: An attribute is replaced by a flattened view of itself
# kind: hidden_leaf
# variable: self.alpha
# says: self.alpha is a view of the leaf; the leaf cannot be reached.

import torch
class Mixer:
    def __init__(self):
        self.alpha = torch.zeros(2, 2, requires_grad=True)
    def weights(self):
        self.alpha = self.alpha.flatten()  #! cause
        return self.alpha.softmax(0)
mixer = Mixer()
# %%
mixer.weights()[0].backward()
print(mixer.alpha.grad)  #! symptom

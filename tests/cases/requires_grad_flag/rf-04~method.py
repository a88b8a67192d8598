# title: Token ids of a batch are to get a gradient
# kind: requires_grad_flag
# variable: tokens
# says: ids are int64.
# raises: RuntimeError

import torch
class Saliency:
    def __init__(self, model):
        self.model = model
    def attribute(self, words):
        tokens = torch.tensor([hash(w) % 7 for w in words])  #! cause
        tokens.requires_grad_()  #! symptom
        return self.model(tokens)
Saliency(torch.nn.Embedding(7, 2)).attribute(["a", "b"])

# title: Features of a frozen encoder, made in a decorated function
# kind: grad_mode
# variable: feats
# says: feats was made in inference mode, and linear must save it.
# raises: RuntimeError

import torch
encoder, head = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)
class Extractor:
    @torch.inference_mode()
    def __call__(self, x):
        return encoder(x).relu()  #! cause
extract = Extractor()
def train_step(x, y):
    feats = extract(x)
    return torch.nn.functional.cross_entropy(head(feats), y)
feats = extract(torch.ones(2, 3))
loss = torch.nn.functional.cross_entropy(head(feats), torch.tensor([0, 1]))  #! symptom

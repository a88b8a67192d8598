# title: torch.inference_mode().__enter__() is undone at once, no_grad().__enter__() is not
# kind: grad_mode
# variable: torch.inference_mode()
# says: The guard object died at the end of line 2, which restored the mode; no_grad().__enter__()
#     in contrast sticks for the whole session.
# fix: with torch.inference_mode(): ... or keep a reference to the guard.
# torch: no error, no warning; prints: False True | False
# source: facebookresearch/sam3#593

import torch
torch.inference_mode().__enter__()  #! cause
print(torch.is_inference_mode_enabled(), torch.is_grad_enabled())  #! symptom
torch.no_grad().__enter__()
print(torch.is_grad_enabled())

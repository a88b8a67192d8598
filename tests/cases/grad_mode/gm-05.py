# title: Inference-mode tensor enters a training computation
# kind: grad_mode
# variable: feat
# says: `feat` was made in inference_mode and the multiplication must save it.
# fix: feat.clone() outside, or no_grad instead of inference_mode.
# torch: RuntimeError (line 5): Inference tensors cannot be saved for backward. Please do not use
#     Tensors created in inference mode in computation tracked by autograd. To work around this,
#     you can make a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()`
#     instead of `torch.inference_mode()`.
# source: unslothai/unsloth#2434

import torch
w = torch.ones(2, requires_grad=True)
with torch.inference_mode():
    feat = torch.ones(2)  #! cause
(w * feat).sum().backward()  #! symptom

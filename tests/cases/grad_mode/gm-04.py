# title: Metric accumulated inside inference_mode, divided outside
# kind: grad_mode
# variable: test_loss
# says: `test_loss` was created in inference_mode (line 3); it may only be changed in place inside
#     it.
# fix: Indent line 4 into the block, or test_loss = test_loss / 2.
# torch: RuntimeError (line 4): Inplace update to inference tensor outside InferenceMode is not
#     allowed.You can make a clone to get a normal tensor before doing inplace update.See
#     https://github.com/pytorch/rfcs/pull/17 for more details.
# source: mrdbourke/pytorch-deep-learning#397

import torch
with torch.inference_mode():
    test_loss = torch.zeros(1) + 3  #! cause
test_loss /= 2  #! symptom

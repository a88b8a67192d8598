# title: Running statistics of an inference loop are updated later
# kind: grad_mode
# variable: stats
# says: stats was made in inference mode; it may be changed there only.
# raises: RuntimeError

import torch
@torch.inference_mode()
def collect(net, batches):
    stats = torch.zeros(2)
    for batch in batches:
        stats = net(batch).mean(0)  #! cause
    return stats
means = collect(torch.nn.Linear(3, 2), [torch.ones(1, 3)] * 2)
stats = means
stats.clamp_(min=0.)  #! symptom

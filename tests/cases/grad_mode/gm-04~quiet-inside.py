# title: Metrics are finished inside the mode, or out of place
# kind: grad_mode
# quiet: true

import torch
net = torch.nn.Linear(2, 1)
with torch.inference_mode():
    total = torch.zeros(1)
    for _ in range(3):
        total += net(torch.ones(1, 2)).sum()
    total /= 3
mean = total / 2
copy = total.clone()
copy += 1
number = total.item()
number += 1

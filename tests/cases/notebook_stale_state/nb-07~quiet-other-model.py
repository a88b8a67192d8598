# title: The weights go into another model, again and again
# kind: notebook_stale_state
# quiet: true

import torch
torch.manual_seed(0)
policy, target = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
opt = torch.optim.SGD(policy.parameters(), lr=0.1)
weights = policy.state_dict()
for step in range(6):
    opt.zero_grad()
    policy(torch.randn(4, 2)).mean().backward()
    opt.step()
    if step % 2:
        target.load_state_dict(weights)
# %%
ema = target.state_dict()
for k, v in policy.state_dict().items():
    ema[k].mul_(0.9).add_(v, alpha=0.1)
target.load_state_dict(ema)

# title: Steps of a rollout kept in a list and turned into a tensor of rewards
# kind: graph_cut
# variable: rewards
# says: as_tensor copies the numbers of the rewards.
# fix: torch.stack(log)

import torch
policy = torch.nn.Linear(2, 1)
state, log = torch.ones(2), []
for _ in range(4):
    action = policy(state)
    state = state + 0.1 * action
    log.append(action.squeeze())
rewards = torch.as_tensor(log)  #! cause
returns = rewards.cumsum(0)
(-returns.sum()).backward()  #! symptom

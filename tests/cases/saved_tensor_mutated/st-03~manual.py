# title: The first player's weights are updated by hand before the second one's backward
# kind: saved_tensor_mutated
# variable: critic.weight
# says: The update changed critic.weight in place after the score had saved it.
# fix: Run both backward calls before the update, or compute the score anew.
# raises: RuntimeError

import torch
actor, critic = torch.nn.Linear(2, 2), torch.nn.Linear(2, 1)
action = actor(torch.ones(1, 2))
score = critic(action).mean()
weight, = torch.autograd.grad(-score, critic.weight, retain_graph=True)
with torch.no_grad():
    critic.weight -= 0.1 * weight  #! cause
score.backward()  #! symptom

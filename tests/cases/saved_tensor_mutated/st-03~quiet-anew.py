# title: The critic is asked anew after its step
# kind: saved_tensor_mutated
# quiet: true

import torch
actor, critic = torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh())
first = torch.optim.Adam(critic.parameters(), lr=0.1)
second = torch.optim.Adam(actor.parameters(), lr=0.1)
def step(state):
    action = actor(state)
    first.zero_grad()
    critic(action).square().mean().backward(retain_graph=True)
    first.step()
    second.zero_grad()
    (-critic(action).mean()).backward()
    second.step()
for state in torch.ones(3, 1, 2):
    step(state)

# title: A training function over a dict of weights, under no_grad
# kind: leaf_rebound
# variable: p['w']
# says: the item is replaced by a tensor that does not require grad.

import torch
def train(p, x, y, lr=0.1):
    loss = ((x @ p['w'] + p['b'] - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        p['w'] = p['w'] - lr * p['w'].grad  #! cause
        p['b'] -= lr * p['b'].grad
    return loss.item()
params = {"w": torch.zeros(2, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
# %%
for _ in range(2):
    try:
        train(params, torch.eye(2), torch.ones(2))  #! symptom
    except TypeError as error:
        print(error)

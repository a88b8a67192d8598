# title: A loop of manual updates in a function, without clearing
# kind: grad_accumulation
# variable: w

import torch

def descend(w, x, y, steps):
    for _ in range(steps):
        loss = ((x @ w - y) ** 2).mean()
        loss.backward()  #! cause
        with torch.no_grad():
            w -= 0.01 * w.grad  #! symptom
    return loss

torch.manual_seed(0)
w = torch.zeros(3, requires_grad=True)
descend(w, torch.randn(8, 3), torch.randn(8), 5)

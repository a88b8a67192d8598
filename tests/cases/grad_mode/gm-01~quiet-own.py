# title: A function of one's own is called no_grad
# kind: grad_mode
# quiet: true

import torch
calls = []
def no_grad():
    calls.append(1)
class Engine:
    def inference_mode(self):
        calls.append(2)
no_grad()
Engine().inference_mode()
w = torch.ones(1, requires_grad=True)
(w * 2).backward()

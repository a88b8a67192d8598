# title: Compiled function mutating an input that requires grad (fixed)
# kind: parallel_compile
# variable: t
# says: Eager and compiled agree in 2.13.
# fix: None needed.
# torch: no error, no warning; prints: tensor([-3., -3.]) | tensor([-3., -3.])
# source: pytorch/pytorch#128035
# quiet: true

import torch
def bump(t):
    frozen = t.detach()
    t += 5  #! cause
    return t * frozen.sign()
for g in (bump, torch.compile(bump, backend="aot_eager")):
    leaf = torch.full((2,), -7., requires_grad=True)
    g(leaf * 3).sum().backward()
    print(leaf.grad)  #! symptom

# title: It looks alike, but the compiled function is given the leaf itself
# kind: parallel_compile
# variable: t
# says: `t` is a leaf that requires grad, and is written in place.
# fix: t = t + 5
# raises: TorchRuntimeError

import torch
@torch.compile(backend="aot_eager")
def bump(t):
    frozen = t.detach()
    t += 5  #! cause
    return (t * frozen.sign()).sum()
for start in (-7., 2.):
    leaf = torch.full((2,), start, requires_grad=True)
    bump(leaf).backward()  #! symptom

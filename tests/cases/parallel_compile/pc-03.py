# title: Leaf mutated inside a compiled function
# kind: parallel_compile
# variable: x
# says: In-place on the leaf passed in; inside torch.compile the message is wrapped in
#     TorchRuntimeError.
# fix: with torch.no_grad(): x.add_(1)
# torch: TorchRuntimeError (line 6): RuntimeError when making fake tensor call
# source: pytorch/pytorch#90844
# note: The issue's own no_grad variant works in 2.13.

import torch
@torch.compile(backend="aot_eager")
def f(x):
    x.add_(1)  #! cause
    return x * 2
f(torch.zeros(2, requires_grad=True))  #! symptom

# === fixed
import torch
@torch.compile(backend="aot_eager")
def f(x):
    with torch.no_grad(): x.add_(1)
    return x * 2
out = f(torch.zeros(2, requires_grad=True))
# === check
assert out.tolist() == [2., 2.]

# title: Hook returns a gradient of the wrong shape
# kind: hook_surprise
# variable: y
# says: The hook at line 4 returned shape [3] for a [1, 3] gradient.
# fix: Return g (same shape), or None to leave it alone.
# torch: RuntimeError (line 5): hook '<lambda>' has changed the size of value
# source: TransformerLensOrg/TransformerLens#1160

import torch
x = torch.ones(1, 3, requires_grad=True)
y = x * 2
y.register_hook(lambda g: g[0])  #! cause
y.sum().backward()  #! symptom

# title: Every attribute of a computed tensor is looked at by inspect
# kind: tool_hazard
# quiet: true

import inspect, torch
y = torch.ones(2, requires_grad=True).exp()
seen = {name for name, _ in inspect.getmembers(type(y)) if not name.startswith("__")}
for name in ("grad", "grad_fn", "is_leaf", "names", "data", "retains_grad"):
    value = getattr(y, name, None)
    print(name, type(value).__name__)
assert "grad" in seen

# title: Unnamed leaves: in a list, in a closure, in a dict
# kind: tool_hazard
# quiet: true

import torch
def make():
    hidden = torch.ones(2, requires_grad=True)
    return lambda x: x * hidden
f, g = make(), make()
store = {"a": [torch.ones(2, requires_grad=True)], 3: torch.ones(2, requires_grad=True)}
out = f(store["a"][0]) + g(store[3])
names = {id(store[3]): "three"}
found = [names.get(id(n.variable), "unnamed") for fn, _ in out.grad_fn.next_functions
         for n, _ in fn.next_functions if hasattr(n, "variable")]
out.sum().backward()
assert sorted(found) == ["three", "unnamed", "unnamed", "unnamed"]

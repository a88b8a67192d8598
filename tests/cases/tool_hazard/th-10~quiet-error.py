# title: An error that was caught keeps nothing alive
# kind: tool_hazard
# quiet: true

import gc, torch, weakref
def fail():
    big = torch.ones(100, requires_grad=True) * 2
    refs.append(weakref.ref(big))
    torch.ones(3) @ big
refs = []
try:
    fail()
except RuntimeError as error:
    said = str(error)
gc.collect()
assert refs[0]() is None and "size" in said

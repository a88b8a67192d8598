# title: A log of shapes, numbers and weak references lets the graphs go
# kind: tool_hazard
# quiet: true

import gc, torch, weakref
log = []
def note(name, value):
    log.append((name, tuple(value.shape), value.item(), weakref.ref(value)))
w = torch.ones(100, requires_grad=True)
for step in range(4):
    loss = (w.exp() ** 2).sum()
    note(f"loss {step}", loss)
    loss.backward()
    w.grad = None
del loss
gc.collect()
assert all(ref() is None for *_, ref in log)

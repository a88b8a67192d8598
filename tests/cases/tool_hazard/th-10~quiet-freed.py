# title: What a cell lets go of is gone
# kind: tool_hazard
# quiet: true

import gc, torch, weakref
net = torch.nn.Linear(50, 50)
out = net(torch.ones(2, 50)).tanh()
loss = out.square().sum()
gone = weakref.ref(out)
loss.backward()
del out, loss
gc.collect()
assert gone() is None
# %%
acts = [net(torch.ones(1, 50)).relu() for _ in range(3)]
refs = [weakref.ref(a) for a in acts]
# %%
del acts
gc.collect()
assert not any(r() for r in refs)

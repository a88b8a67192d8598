# title: Computed tensors are copied, printed and compared by tools
# kind: tool_hazard
# quiet: true

import pprint, torch
w = torch.ones(2, requires_grad=True)
state = {"h": w * 2, "more": [w.sum(), w.detach()]}
text = pprint.pformat(state)
# %%
picked = [k for k in dir(state["h"]) if k in ("grad", "data", "is_leaf")]
values = list(map(state["h"].__getattribute__, ("is_leaf", "shape")))
print(len(text) > 0, picked, values)

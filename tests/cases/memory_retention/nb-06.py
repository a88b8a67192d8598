# title: After an exception the traceback keeps the model and activations alive
# kind: memory_retention
# variable: act
# says: The frame of train() (held by sys.last_traceback / IPython's last error) still owns `act`
#     and its graph.
# fix: Re-raise-free run, %tb off, or sys.last_value = sys.last_traceback = sys.last_exc = None;
#     gc.collect().
# torch: RuntimeError (line 7, inside line 11, cell 2): oops; prints: True
# source: pytorch/pytorch#36874
# note: Prints the user's own RuntimeError first; the retention is silent.

import torch, gc, weakref
def train():
    act = torch.ones(1000, requires_grad=True).exp()  #! cause
    train.ref = weakref.ref(act)
    raise RuntimeError("oops")
# %%
train()
# %%
gc.collect()
print(train.ref() is not None)  #! symptom

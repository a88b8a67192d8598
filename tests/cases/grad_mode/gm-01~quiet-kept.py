# title: A guard is kept in a variable, an exit stack or a decorator
# kind: grad_mode
# quiet: true

import contextlib, torch
guard = torch.no_grad()
with guard:
    a = torch.ones(1, requires_grad=True) * 2
with contextlib.ExitStack() as stack:
    stack.enter_context(torch.no_grad())
    b = torch.ones(1, requires_grad=True) * 2
@torch.no_grad()
def predict(net, x):
    return net(x)
context = torch.enable_grad() if a.requires_grad else contextlib.nullcontext()
with context:
    c = predict(torch.nn.Linear(2, 1), torch.ones(1, 2))
assert not (a.requires_grad or b.requires_grad or c.requires_grad)

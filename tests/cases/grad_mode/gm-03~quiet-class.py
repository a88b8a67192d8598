# title: A class of guards that hands on to one of torch
# kind: grad_mode
# quiet: true

import torch
class Frozen:
    def __enter__(self):
        self.guard = torch.no_grad()
        self.guard.__enter__()
        return self
    def __exit__(self, *error):
        self.guard.__exit__(*error)
w = torch.ones(1, requires_grad=True)
with Frozen():
    assert not (w * 2).requires_grad
assert (w * 2).requires_grad

# title: Start values in a dict, moved by keyword
# kind: hidden_leaf
# variable: start
# says: .to(device=...) on a flagged tensor without a name.

import torch
where = "cuda" if torch.cuda.is_available() else "cpu"
def begin(n):
    start = torch.rand(n).requires_grad_(True).to(device=where, non_blocking=True)  #! cause
    return {"x": start}
values = begin(3)  #! symptom

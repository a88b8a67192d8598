# title: It looks alike, but what is bumped is what an idle dropout gave back
# kind: parallel_compile
# variable: kept
# says: Eager changes the argument through `kept`, the compiled module does not.
# fix: kept = kept + 5

import torch
class Bump(torch.nn.Module):
    def forward(self, t):
        kept = torch.nn.functional.dropout(t, training=False)  #! cause
        kept += 5
        return kept.mean()
net, start = Bump(), torch.zeros(2)
torch.compile(net, backend="aot_eager")(start)
print(start)  #! symptom

# title: Two heads on one body: the first head's optimizer steps before the second loss runs back
# kind: saved_tensor_mutated
# variable: net.body.weight
# says: The step changed body.weight, which the graph of the second loss had saved.
# fix: Run both backward calls before the step.
# raises: RuntimeError

import torch
class Twin(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.low, self.body = torch.nn.Linear(2, 3), torch.nn.Linear(3, 3)
        self.left, self.right = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
    def forward(self, x):
        h = self.body(self.low(x).tanh())
        return self.left(h).square().mean(), self.right(h).abs().mean()
# %%
net = Twin()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
def train(x):
    first, second = net(x)
    opt.zero_grad()
    first.backward(retain_graph=True)
    opt.step()  #! cause
    second.backward()  #! symptom
    opt.step()
for _ in range(2):
    train(torch.ones(4, 2))
